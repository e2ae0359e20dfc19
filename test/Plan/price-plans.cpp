//===- price-plans.cpp - What is priced is what runs ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   price-plans MODULE --mesh AXES [--cluster NAME] [--plans N] [--verbose]
//
// MODULE is a dump of the stage Import. Makes N plans of it on one grid, and
// compares for each what the planner says with the program that Partition and
// Lower make of it: the price of every conversion, of the whole, and the memory
// of the fullest device. Every other plan is drawn at random; of the others,
// where more layouts meet, only every eighth operator of the best plan is.
// Prints a line for each plan that differs and one in the end; exits with 8 if
// a price differs, or the memory: it may be 5 % less than is held, or 10 %
// more.
//
//===----------------------------------------------------------------------===//

#include "PlanPrice.h"
#include "dialects/NN/Carries.h"
#include "divisi/Artifact/Memory.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/OpCost.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Cost/StepCost.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/Report/Report.h"
#include "divisi/Route/Router.h"

#include "dialects/SPMD/Strategy.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <random>

using namespace divisi;

static llvm::cl::opt<std::string> modelPath(llvm::cl::Positional,
                                            llvm::cl::Required);
static llvm::cl::opt<std::string> mesh("mesh", llvm::cl::Required);
static llvm::cl::opt<std::string> cluster("cluster");
static llvm::cl::opt<unsigned> plans("plans", llvm::cl::init(200));
static llvm::cl::opt<bool> verbose("verbose");

[[noreturn]] static void stop(const Status &status) {
  llvm::errs() << "error: " << status.message() << "\n";
  std::exit(static_cast<int>(status.code()));
}

/// What the planner says of memory may be less than weights, arena and inputs
/// by so much of them, or more: where all operands of an operator are
/// converted, it lets go of what they are made from only then, and a program
/// one by one. Of attention these are three, of SegFormer's the largest tensors
/// that it has.
static constexpr double kMemoryUnder = 0.05, kMemoryOver = 0.3;

template <typename T> static T take(Expected<T> value) {
  if (!value) {
    stop(value.status());
  }
  return std::move(*value);
}

static void mustWork(const Status &status) {
  if (!status.isOk()) {
    stop(status);
  }
}

/// The price of each convert that Partition makes, ascending.
static std::vector<int64_t> pricesOfConverts(mlir::ModuleOp planned,
                                             const Cluster &machine) {
  mlir::OwningOpRef<mlir::ModuleOp> module(planned.clone());
  mlir::PassManager passes(module->getContext());
  passes.addPass(createSPMDPartition());
  if (mlir::failed(passes.run(*module))) {
    stop(Status(ExitCode::Internal, "the module was not partitioned"));
  }
  spmd::GridOp grid = *module->getOps<spmd::GridOp>().begin();
  Router router(grid.getValue(),
                stepPrices(grid.getValue(), linksOf(grid, machine)));
  std::vector<int64_t> prices;
  module->walk([&](spmd::ConvertOp convert) {
    spmd::LocalAttr from = spmd::getLocal(convert.getInput().getType());
    spmd::LocalAttr to = spmd::getLocal(convert.getOutput().getType());
    std::optional<int64_t> price = router.price(
        from.getGlobalShape(),
        nn::elementBits(convert.getInput().getType().getElementType()),
        from.getLayout(), to.getLayout());
    prices.push_back(price.value_or(-1));
  });
  llvm::sort(prices);
  return prices;
}

/// Of the entry that is given most: whoever runs it keeps them for it. On
/// devices of `memory`.
static int64_t bytesOfInputs(mlir::ModuleOp partitioned,
                             const GridMemory &memory) {
  int64_t most = 0;
  for (auto function : partitioned.getOps<mlir::func::FuncOp>()) {
    int64_t bytes = 0;
    for (mlir::Type type : function.getArgumentTypes()) {
      spmd::LocalAttr local = spmd::getLocal(type);
      int64_t largest = 0;
      for (const GridPart &part : memory.positions) {
        largest = std::max(
            largest,
            localBytes(local.getGrid(), local.getLayout(),
                       local.getGlobalShape(),
                       nn::elementBits(
                           mlir::cast<mlir::ShapedType>(type).getElementType()),
                       part));
      }
      bytes += largest;
    }
    most = std::max(most, bytes);
  }
  return most;
}

/// What the fullest device holds of weights and arena; of one kind, or of all.
static int64_t heldBy(const DeviceKind *kind, const Cluster &machine,
                      const std::vector<rt::RankMemory> &ranks) {
  int64_t most = 0;
  for (auto [device, rank] : llvm::enumerate(ranks)) {
    if (!kind || machine.kindOf(int64_t(device)) == *kind) {
      most = std::max(most, rank.weights + rank.arena);
    }
  }
  return most;
}

namespace {
/// What differed over all plans.
struct Tally {
  unsigned wrongConversions = 0, wrongTimes = 0, wrongSchedules = 0;
  double leastMemory = 0, mostMemory = 0; ///< Relative, under and over.
  int64_t conversions = 0;
  int64_t fused = 0;     ///< Operators.
  int64_t hidden = 0;    ///< Nanoseconds of communication.
  unsigned bucketed = 0; ///< Plans some of whose reductions become one.
};
} // namespace

/// One plan in so many is scheduled, which takes longer than all else.
static constexpr unsigned kScheduled = 5;

/// Collectives and local moves.
static int64_t countSteps(mlir::ModuleOp module) {
  int64_t count = 0;
  module.walk([&](spmd::StepInterface) { ++count; });
  return count;
}

/// Gives one operator in eight any of its strategies.
static void redraw(mlir::ModuleOp planned, unsigned seed) {
  constexpr size_t kMostSplits = 512;
  std::mt19937_64 random(seed);
  planned.walk([&](nn::LoopInterface op) {
    if (spmd::getSplit(op) && random() % 8 == 0) {
      spmd::GridOp grid = spmd::lookupGrid(op, spmd::getSplit(op).getGrid());
      LoopNest nest = nn::barredLoopNest(op);
      auto splits = enumerateSplits(nest, grid.getValue(), kMostSplits);
      spmd::setSplit(op, grid, nest, splits[random() % splits.size()]);
    }
  });
}

/// Schedules a partitioned plan.
static void compareSchedule(Compilation &plan, const PlanPrice &price,
                            unsigned seed, Tally &tally) {
  int64_t before = countSteps(plan.module());
  mustWork(plan.advanceTo(Stage::Schedule));
  // Buckets of reductions take less than what is in them.
  bool hasBuckets = countSteps(plan.module()) < before;
  tally.bucketed += hasBuckets;
  int64_t inTurn = 0;
  for (const ScheduleRecord &record : take(getScheduleRecords(plan.module()))) {
    inTurn += record.nanoseconds - record.exposed + record.communication;
    tally.hidden += record.communication - record.exposed;
  }
  if (hasBuckets ? inTurn >= price.nanoseconds : inTurn != price.nanoseconds) {
    ++tally.wrongSchedules;
    llvm::outs() << llvm::formatv(
        "seed {0}: {1} ns planned, {2} ns scheduled without overlap\n", seed,
        price.nanoseconds, inTurn);
  }
}

static void comparePlan(std::unique_ptr<Compilation> plan, unsigned seed,
                        Tally &tally) {
  Cluster machine = take(plan->cluster());
  PlanPrice price = take(priceOfPlan(plan->module(), machine));
  std::vector<int64_t> converts = pricesOfConverts(plan->module(), machine);
  tally.conversions += int64_t(converts.size());
  if (converts != price.conversions) {
    ++tally.wrongConversions;
    llvm::outs() << llvm::formatv(
        "seed {0}: {1} conversions planned, {2} made\n", seed,
        price.conversions.size(), converts.size());
  }
  mustWork(plan->advanceTo(Stage::Partition));
  Report report = take(makeReport(plan->module(), machine));
  int64_t made = report.nanoseconds;
  for (const ReportRow &row : report.rows) {
    tally.fused += row.isFused;
  }
  if (made != price.nanoseconds) {
    ++tally.wrongTimes;
    llvm::outs() << llvm::formatv("seed {0}: {1} ns planned, {2} ns made\n",
                                  seed, price.nanoseconds, made);
  }
  // What is planned is the memory of the order as it is, each operator a call.
  CompileOptions options;
  options.overlap = false;
  options.fuse = false;
  Compilation inOrder(std::move(options),
                      cast<mlir::ModuleOp>(plan->module().clone()),
                      Stage::Partition);
  if (seed % kScheduled == 0) {
    compareSchedule(*plan, price, seed, tally);
  }
  spmd::GridOp grid = *plan->module().getOps<spmd::GridOp>().begin();
  std::vector<GridMemory> kinds =
      memoriesOf(machine, grid.getValue(), grid.getDeviceIds());
  std::vector<int64_t> inputs;
  for (const GridMemory &kind : kinds) {
    inputs.push_back(bytesOfInputs(plan->module(), kind));
  }
  mustWork(inOrder.advanceTo(Stage::Schedule));
  // The planner counts tensors: neither what kernels pack nor their scratch.
  mlir::PassManager passes(inOrder.module().getContext());
  buildLowerPipeline(passes, {.plansScratch = false, .choosesFormats = false});
  if (failed(passes.run(inOrder.module()))) {
    stop(Status(ExitCode::Internal, "a plan cannot be lowered"));
  }
  std::vector<rt::RankMemory> ranks =
      take(predictMemory(inOrder.module(), /*withKernels=*/false));
  for (auto [kind, given, peak] : llvm::zip_equal(kinds, inputs, price.peaks)) {
    const DeviceKind *own = kinds.size() > 1 ? &kind.kind : nullptr;
    double held = double(heldBy(own, machine, ranks) + given);
    double error = (double(peak) - held) / held;
    if (verbose) {
      llvm::outs() << llvm::formatv(
          "seed {0}: {1} bytes planned, {2} held by a {3}\n", seed, peak,
          int64_t(held), kind.kind.name);
    }
    tally.leastMemory = std::min(tally.leastMemory, error);
    tally.mostMemory = std::max(tally.mostMemory, error);
  }
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv);
  CompileOptions options;
  options.plan.grid.mesh = mesh;
  options.plan.cluster = cluster;
  options.plan.hostInstructionSet = hostInstructionSet();
  Compilation model(options);
  mustWork(model.load(modelPath));
  mustWork(model.advanceTo(Stage::Import));
  std::unique_ptr<Compilation> best = model.fork(options.plan);
  mustWork(best->advanceTo(Stage::Plan));
  options.plan.solver = "random";
  Tally tally;
  for (unsigned seed = 0; seed != plans; ++seed) {
    options.plan.seed = seed;
    std::unique_ptr<Compilation> plan =
        (seed % 2 == 0 ? model : *best).fork(options.plan);
    mustWork(plan->advanceTo(Stage::Plan));
    if (seed % 2 != 0) {
      redraw(plan->module(), seed);
    }
    comparePlan(std::move(plan), seed, tally);
  }
  llvm::outs() << llvm::formatv(
      "{0} plans, {1} conversions, {2} fused operators: {3} plans with other "
      "conversions, {4} with another time, {6} scheduled by another, {7} us "
      "hidden, {8} with buckets, memory at worst {5:P1} off\n",
      plans, tally.conversions, tally.fused, tally.wrongConversions,
      tally.wrongTimes, std::max(tally.mostMemory, -tally.leastMemory),
      tally.wrongSchedules, tally.hidden / 1000, tally.bucketed);
  bool isRight =
      tally.wrongConversions + tally.wrongTimes + tally.wrongSchedules == 0 &&
      tally.leastMemory >= -kMemoryUnder && tally.mostMemory <= kMemoryOver;
  return isRight ? 0 : int(ExitCode::Differs);
}
