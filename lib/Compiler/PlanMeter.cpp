//===- PlanMeter.cpp - What is known of plans that are lowered ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanMeter.h"

#include "LeaveOut.h"
#include "dialects/SPMD/SPMD.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/runtime/code/GridTarget.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace divisi;

/// Of what is planned, and of the machine. What the module notes of the plan
/// tells the pass that orders entries how much memory there is, where it is not
/// told by others.
static std::string keyOf(ModuleOp planned, bool isTold,
                         const CompileOptions &options) {
  DictionaryAttr notes = planned->getAttrDictionary();
  planned->setAttrs(ArrayRef<NamedAttribute>());
  std::string text;
  llvm::raw_string_ostream os(text);
  planned->print(os, OpPrintingFlags().assumeVerified().printGenericOpForm());
  planned->setAttrs(notes);
  os << notes.get(kClusterAttr) << ' ' << options.fuse << ' '
     << options.plan.memoryLimit.value_or(-1);
  auto record = getPlanRecord(planned);
  if (!isTold && record && *record) {
    os << ' ' << (*record)->memoryLimit.value_or(-1) << ' '
       << (*record)->stages.has_value();
  }
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return std::to_string(hash.high64) + "." + std::to_string(hash.low64);
}

/// Runs `passes` without a word. Nobody runs what they make, and a module that
/// somebody runs is verified after each pass. Who ends the planner meanwhile
/// waits for one pass; what is made is then of no use.
LogicalResult Compilation::PlanMeter::runQuietly(
    const Question &about, ModuleOp module,
    llvm::function_ref<void(OpPassManager &)> addPasses) {
  MLIRContext &context = *module.getContext();
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  PassManager passes(&context);
  passes.enableVerifier(false);
  addPasses(passes);
  const CompileOptions &options = about.of.options_;
  auto isCut = [&] {
    isCut_ = isCut_ || (!about.isOver && options.plan.control.stop.isRaised());
    return isCut_;
  };
  leaveOut(context, options.leaveOut, isCut);
  LogicalResult result = passes.run(module);
  leaveOut(context, options.leaveOut);
  return failure(failed(result) || isCut());
}

Compilation::PlanMeter::Question Compilation::PlanMeter::ask(Compilation &of,
                                                             ModuleOp planned) {
  std::optional<FewBatches> few = FewBatches::of(planned);
  std::string key = keyOf(planned, few.has_value(), of.options_);
  if (key != last_) {
    forgetModules();
    last_ = key;
  }
  Found &found = found_[key];
  return {of,
          planned,
          std::move(key),
          std::move(few),
          found,
          of.options_.plan.control.stop.isRaised()};
}

void Compilation::PlanMeter::forgetModules() {
  parts_ = nullptr;
  overlapped_ = nullptr;
}

/// Whether modules of `batches` micro-batches are those that are kept.
bool Compilation::PlanMeter::isKept(const Question &about, int64_t batches) {
  return batches == (about.few ? about.few->more() : 0);
}

/// A copy of the plan, with `batches` of its micro-batches, 0: all of them, as
/// programs of ranks in the order of the plan; null if it has none.
Compilation::PlanMeter::Owned
Compilation::PlanMeter::parts(const Question &about, int64_t batches) {
  if (isKept(about, batches) && parts_) {
    return std::move(parts_);
  }
  ModuleOp planned = about.planned;
  Owned made = planned.clone();
  if (failed(runQuietly(about, *made, [&](OpPassManager &passes) {
        buildPartitionPipeline(passes,
                               {.proves = false, .mostBatches = batches});
        buildSchedulePipeline(passes, /*overlap=*/false, about.of.options_.fuse,
                              /*proves=*/false);
      }))) {
    return nullptr;
  }
  return made;
}

/// What is left on the fullest device of all, in the order of the plan.
std::optional<int64_t> Compilation::PlanMeter::room(const Question &about) {
  const Memory &held = ofDevices(about, /*overlap=*/false);
  std::optional<int64_t> room;
  if (!held) {
    return room;
  }
  for (const DeviceMemory &device : *held) {
    if (device.held.total() > 0) {
      int64_t left = std::max<int64_t>(-device.missing(), 0);
      room = std::min(room.value_or(left), left);
    }
  }
  return room;
}

/// The same with overlap. Few micro-batches stand for all, so each number of
/// them has the room that all have; of all, the pass finds it. What two numbers
/// of them take is compared, so the second one fetches as far `ahead` as the
/// first.
Compilation::PlanMeter::Owned
Compilation::PlanMeter::overlapped(const Question &about, int64_t batches,
                                   std::optional<int64_t> ahead) {
  if (isKept(about, batches) && overlapped_) {
    return std::move(overlapped_);
  }
  ScheduleOverlapOptions options;
  options.ahead = ahead;
  if (about.few) {
    options.growth = room(about);
  }
  Owned made = parts(about, batches);
  if (!made || failed(runQuietly(about, *made, [&](OpPassManager &passes) {
        passes.addPass(createScheduleOverlap(options));
      }))) {
    return nullptr;
  }
  return made;
}

/// Per device.
Compilation::PlanMeter::Memory
Compilation::PlanMeter::lowered(const Question &about, Owned module) {
  if (!module || failed(runQuietly(about, *module, [&](OpPassManager &passes) {
        LowerOptions lower = about.of.lowerOptions();
        lower.proves = false;
        std::string &target = lower.device.codeTarget;
        target = std::string(rt::ptxOf(target)); // nobody runs it
        buildLowerPipeline(passes, lower);
      }))) {
    return std::nullopt;
  }
  auto ranks = about.of.memoryOfRanks(*module);
  return ranks ? Memory(std::move(*ranks)) : std::nullopt;
}

Compilation::PlanMeter::Memory
Compilation::PlanMeter::ofBatches(const Question &about, bool overlap,
                                  int64_t batches) {
  if (overlap) {
    return lowered(about, overlapped(about, batches));
  }
  Owned made = parts(about, batches);
  if (made && isKept(about, batches)) {
    parts_ = made->clone();
  }
  return lowered(about, std::move(made));
}

const Compilation::PlanMeter::Memory &
Compilation::PlanMeter::ofDevices(const Question &about, bool overlap) {
  Memory &held = overlap ? about.found.overlapped : about.found.inOrder;
  if (held) {
    return held;
  }
  std::optional<FewBatches> few = about.few;
  if (few && !few->tellsMemory()) {
    few.reset();
  }
  held = ofBatches(about, overlap, few ? few->more() : 0);
  if (held && few && few->growsMemory()) {
    Memory fewer = ofBatches(about, overlap, few->fewer());
    if (!fewer) {
      held.reset();
      return held;
    }
    for (auto [some, all] : llvm::zip_equal(*fewer, *held)) {
      all.held.arena = few->bytes(some.held.arena, all.held.arena);
      all.held.device = few->bytes(some.held.device, all.held.device);
    }
  }
  return held;
}

Compilation::PlanMeter::Memory Compilation::PlanMeter::memory(Compilation &of,
                                                              ModuleOp planned,
                                                              bool overlap) {
  const Memory &held = ofDevices(ask(of, planned), overlap);
  return held ? Memory(fullestOf(*held)) : std::nullopt;
}

/// How far ahead the order of `scheduled` fetches weights; less than 0: it has
/// not been changed.
static int64_t aheadIn(ModuleOp scheduled) {
  bool isMoved =
      llvm::any_of(scheduled.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function->hasAttr(spmd::SPMDDialect::kOverlap);
      });
  auto records = getScheduleRecords(scheduled);
  return isMoved && records && !records->empty() ? records->front().fetchedAhead
                                                 : -1;
}

std::optional<int64_t> Compilation::PlanMeter::time(Compilation &of,
                                                    ModuleOp planned) {
  Question about = ask(of, planned);
  std::optional<int64_t> &time = about.found.nanoseconds;
  const std::optional<FewBatches> &few = about.few;
  if (time || !of.options_.overlap) {
    return time;
  }
  Owned more = overlapped(about, few ? few->more() : 0);
  time = more ? scheduledTime(*more) : std::nullopt;
  overlapped_ = std::move(more);
  if (time && few) {
    Owned fewer = overlapped(about, few->fewer(), aheadIn(*overlapped_));
    std::optional<int64_t> ofFewer =
        fewer ? scheduledTime(*fewer) : std::nullopt;
    time = ofFewer ? std::optional(few->nanoseconds(*ofFewer, *time))
                   : std::nullopt;
  }
  return time;
}
