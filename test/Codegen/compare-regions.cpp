//===- compare-regions.cpp - Code of models' regions ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   compare-regions MODULE... [--verbose]
//
// MODULEs are dumps of the stage Import. Plans each for one device, and at
// random for several, with uneven shards; takes all regions that code is made
// of, those of one structure once, in each float type that code takes, or in
// those that it mixes, and compares their code with the interpreted region on
// boxes that ranks have and on others that are drawn: odd, uneven, empty. Prints
// what was counted; exits with 8 at the first difference.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Profile/HostProcessor.h"
#include "passes/Lower/CallSites.h"
#include "test/Codegen/RegionCheck.h"
#include "test/Codegen/RegionShapes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace divisi;
using namespace divisi::test;
using rt::DType;

static llvm::cl::list<std::string> modelPaths(llvm::cl::Positional,
                                              llvm::cl::OneOrMore);
static llvm::cl::opt<bool> verbose("verbose",
                                   llvm::cl::desc("say what is compared"));

[[noreturn]] static void stop(const std::string &message, ExitCode code) {
  llvm::errs() << "error: " << message << "\n";
  std::exit(static_cast<int>(code));
}

static void mustWork(const Status &status) {
  if (!status.isOk()) {
    stop(status.message(), status.code());
  }
}

namespace {

/// The regions of some models.
struct Regions {
  /// By structure, in f32 unless several types of floats are mixed: boxes that
  /// ranks have of one.
  std::map<std::string, std::vector<RegionCall>> known;
  int64_t calls = 0;      ///< Of all programs.
  int64_t withoutCode = 0; ///< Such that no code is made of.

  void add(mlir::ModuleOp lowered);
};

} // namespace

static constexpr size_t mostBoxes = 3;
static constexpr int64_t mostElements = 20000;

void Regions::add(mlir::ModuleOp lowered) {
  llvm::StringSet<> updated = updatedGlobals(lowered);
  for (auto program : lowered.getOps<exec::ProgramOp>()) {
    CallSites sites(program, updated);
    for (auto call : program.getBody().getOps<exec::CallOp>()) {
      if (!call.isFused()) {
        continue;
      }
      ++calls;
      bool hasCode = sites.all(call, [&](const rt::CallSite &site, int) {
        if (!generatesCode(site)) {
          return false;
        }
        RegionCall region = RegionCall::of(site);
        if (!region.mixesFloats()) {
          region = region.onFloats(DType::F32);
        }
        std::vector<RegionCall> &boxes = known[codeStructure(region.site())];
        bool isSmall = region.results[0].count() <= mostElements;
        // One at least, whose shapes others are drawn like.
        if (boxes.empty() || (isSmall && boxes.size() < mostBoxes)) {
          boxes.push_back(std::move(region));
        }
        return true;
      });
      withoutCode += !hasCode;
    }
  }
}

/// Whether it reads or makes codes of 8 bits.
static bool hasCodes(const RegionCall &call) {
  auto isCode = [](const rt::TensorInfo &info) {
    return info.type == DType::I8 || info.type == DType::U8;
  };
  return llvm::any_of(call.operands, isCode) ||
         llvm::any_of(call.results, isCode);
}

/// The plans that a model's regions are taken of.
static std::vector<PlanOptions> plans() {
  std::vector<PlanOptions> all(1);
  all[0].grid.devices = 1;
  for (const char *mesh : {"2", "3", "3x2"}) {
    PlanOptions &plan = all.emplace_back();
    plan.grid.mesh = mesh;
    plan.solver = "random";
    plan.seed = all.size();
  }
  return all;
}

static void addModel(const std::string &path, Regions &regions) {
  // Operators that code is made of by themselves are regions then, too.
  CompileOptions compiled;
  compiled.nativeLevel = std::string(rt::hostLevel());
  compiled.plan.hostInstructionSet = hostInstructionSet();
  Compilation model(compiled);
  mustWork(model.load(path));
  mustWork(model.advanceTo(Stage::Import));
  for (const PlanOptions &options : plans()) {
    std::unique_ptr<Compilation> plan = model.fork(options);
    mustWork(plan->advanceTo(Stage::Lower));
    regions.add(plan->module());
  }
}

static void compareRegion(const std::vector<RegionCall> &boxes,
                          RegionCheck &check, std::mt19937 &random) {
  auto must = [](const std::string &wrong) {
    if (!wrong.empty()) {
      stop(wrong, ExitCode::Differs);
    }
  };
  RegionShapes shapes(boxes[0]);
  std::vector<RegionCall> calls;
  std::copy_if(boxes.begin(), boxes.end(), std::back_inserter(calls),
               [](const RegionCall &box) {
                 return box.results[0].count() <= mostElements;
               });
  using enum RegionShapes::Box;
  for (RegionShapes::Box box : {Whole, Uneven, Uneven, Uneven, Empty}) {
    calls.push_back(shapes.draw(random, mostElements, box));
  }
  for (size_t c = 0; c < calls.size(); ++c) {
    must(check.compare(calls[c], Numbers(c % 3), random));
  }
  must(check.compareTeams(shapes.draw(random, 50 * mostElements, Uneven),
                          random));
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv);
  if (rt::hostLevel().empty()) {
    llvm::outs() << "skipped: no code is made for this processor\n";
    return 0;
  }
  Regions regions;
  for (const std::string &path : modelPaths) {
    addModel(path, regions);
    if (verbose) {
      llvm::outs() << llvm::formatv("{0}: {1} structures in all\n", path,
                                    regions.known.size());
    }
  }
  RegionCheck check;
  std::mt19937 random(1);
  for (const auto &[structure, boxes] : regions.known) {
    if (verbose) {
      llvm::outs() << boxes[0].describe() << "\n";
    }
    if (boxes[0].mixesFloats()) {
      compareRegion(boxes, check, random);
      continue;
    }
    // Scales of codes are f32.
    for (DType type : {DType::F32, DType::F16, DType::BF16}) {
      std::vector<RegionCall> typed;
      for (const RegionCall &box : boxes) {
        typed.push_back(box.onFloats(type));
      }
      if (generatesCode(typed[0].site())) {
        compareRegion(typed, check, random);
      }
    }
  }
  auto count = [&](auto &&isSuch) {
    return llvm::count_if(regions.known, [&](const auto &known) {
      return isSuch(known.second.front());
    });
  };
  llvm::outs() << llvm::formatv(
      "{0} models, {1} fused calls, {2} without code; {3} structures, {4} of "
      "codes of 8 bits, {5} of several types of floats; {6} objects, {7} calls, "
      "{8} elements, {9} undecided\n",
      modelPaths.size(), regions.calls, regions.withoutCode,
      regions.known.size(), count(hasCodes),
      count([](const RegionCall &call) { return call.mixesFloats(); }),
      check.structures(), check.calls, check.counts.elements,
      check.counts.undecided);
  return 0;
}
