//===- Options.cpp - Options as callers give them -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Options.h"

#include "CodeOptions.h"
#include "LeaveOut.h"
#include "PipelineOptions.h"
#include "TrainOptions.h"
#include "divisi/Plan/TrainingStates.h"
#include "divisi/Support/Assignment.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace divisi;

static Status usage(StringRef flag, StringRef text, StringRef expected) {
  return Status(ExitCode::Usage,
                (flag + " '" + text + "': expected " + expected).str());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

// Longer units stand first: "B" ends them all.
static divisi::Expected<int64_t> parseBytes(StringRef flag, StringRef text) {
  static constexpr std::pair<StringLiteral, double> kUnits[] = {
      {"KiB", 1024.0},
      {"MiB", 1048576.0},
      {"GiB", 1073741824.0},
      {"TiB", 1099511627776.0},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
      {"B", 1.0},
  };
  StringRef number = text;
  double factor = 1;
  for (const auto &[unit, bytes] : kUnits) {
    if (number.consume_back(unit)) {
      factor = bytes;
      break;
    }
  }
  double value = 0;
  if (number.trim().getAsDouble(value) || !(value > 0) ||
      value * factor > 9e18) {
    return usage(flag, text, "a size such as 70GiB, 512MiB or 1000000");
  }
  return static_cast<int64_t>(value * factor);
}

static divisi::Expected<std::vector<int64_t>> parseExtents(StringRef flag,
                                                           StringRef text) {
  std::vector<int64_t> extents;
  SmallVector<StringRef, 4> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t extent = 0;
    if (part.getAsInteger(10, extent) || extent < 0) {
      return usage(flag, text, "extents such as 2x16");
    }
    extents.push_back(extent);
  }
  return extents;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// What `flag` says of `name` for the second time.
static Status saidTwice(StringRef flag, StringRef name) {
  return Status(ExitCode::Usage, (flag + " gives '" + name +
                                  "' twice, and not alike; give it once")
                                     .str());
}

static Status addShapes(const GivenOptions &given, ImportOptions &options) {
  for (const std::string &text : given.dims) {
    auto parts = splitAssignment(text);
    int64_t extent = 0;
    if (!parts || StringRef(parts->second).getAsInteger(10, extent) ||
        extent < 0) {
      return usage("--dim", text, "NAME=N with N at least 0");
    }
    auto dim = options.dims.try_emplace(std::string(parts->first), extent);
    if (dim.first->second != extent) {
      return saidTwice("--dim", parts->first);
    }
  }
  for (const std::string &text : given.shapes) {
    auto parts = splitAssignment(text);
    if (!parts) {
      return usage("--shape", text, "INPUT=2x16");
    }
    divisi::Expected<std::vector<int64_t>> extents =
        parseExtents("--shape", parts->second);
    if (!extents) {
      return extents.status();
    }
    ImportOptions::Input input{*extents, std::nullopt};
    auto shape = options.inputs.try_emplace(std::string(parts->first), input);
    if (shape.first->second.dims != *extents) {
      return saidTwice("--shape", parts->first);
    }
  }
  if (given.maxTripCount && *given.maxTripCount < 0) {
    return makeError(ExitCode::Usage, "--max-trip-count ", *given.maxTripCount,
                     ": expected 0 or more");
  }
  options.maxTripCount = given.maxTripCount;
  if (given.sharedInputs == std::vector<std::string>{"none"}) {
    options.shared.emplace();
  } else if (!given.sharedInputs.empty()) {
    options.shared = given.sharedInputs;
  }
  return Status();
}

/// A '*' in both names, or in none.
static Status addStates(const GivenOptions &given, ImportOptions &options) {
  for (const std::string &text : given.states) {
    auto parts = splitAssignment(text);
    size_t stars = parts ? StringRef(parts->first).count('*') : 2;
    if (stars > 1 || StringRef(parts->second).count('*') != stars) {
      return usage("--state", text,
                   "INPUT=OUTPUT, or one * in both, as in past.*=present.*");
    }
    options.states.emplace_back(parts->first, parts->second);
  }
  return Status();
}

std::vector<ImportOptions::Given>
divisi::labelledShapes(ArrayRef<rt::GivenTensor> tensors) {
  std::vector<ImportOptions::Given> shapes;
  for (const rt::GivenTensor &given : tensors) {
    std::optional<rt::DType> type;
    if (!given.head.isOpaque) {
      type = given.head.type;
    }
    shapes.push_back({given.label, {given.head.dims, type}});
  }
  return shapes;
}

static Status addPrecision(const GivenOptions &given,
                           PrecisionOptions &options) {
  std::string type = given.precision.value_or("");
  if (given.precision && type != "bf16" && type != "f16") {
    return usage("--precision", type, "bf16 or f16");
  }
  if (!given.keepF32.empty() && type.empty()) {
    return Status(ExitCode::Usage, "--keep-f32 needs --precision; give both");
  }
  std::string sums = given.reducePrecision.value_or("f32");
  if (sums != "f32" && sums != "bf16" && sums != "f16") {
    return usage("--reduce-precision", sums, "bf16, f16 or f32");
  }
  if (sums != "f32" && sums != type) {
    return Status(ExitCode::Usage,
                  "--reduce-precision " + sums + " needs --precision " + sums +
                      ": parts of sums travel in the type of the product that "
                      "makes them; give both");
  }
  options = {type, given.keepF32, sums != "f32"};
  return Status();
}

static Status addLeftOut(const GivenOptions &given, CompileOptions &options) {
  for (const std::string &pass : given.leaveOut) {
    if (!is_contained(optionalPasses(), pass)) {
      return Status(ExitCode::Usage, "--leave-out '" + pass +
                                         "': expected some of " +
                                         join(optionalPasses(), ", "));
    }
  }
  if (!given.rules.empty() && is_contained(given.leaveOut, "apply-rules")) {
    return Status(ExitCode::Usage,
                  "--leave-out apply-rules applies no rules, "
                  "and --rules applies some; give one of them");
  }
  options.leaveOut = given.leaveOut;
  return Status();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static Status addRewriting(const GivenOptions &given, RewriteOptions &options) {
  std::optional<RewriteMode> mode = parseRewriteMode(given.rewrite);
  if (!mode) {
    return usage("--rewrite", given.rewrite, "off, greedy, search or joint");
  }
  std::optional<rewrite::NumericClass> most =
      parseSearchedClass(given.rewriteClass);
  if (!most) {
    return usage("--rewrite-class", given.rewriteClass,
                 "bit-exact or reassociates");
  }
  bool isSearch = *mode == RewriteMode::Search || *mode == RewriteMode::Joint;
  if (!isSearch && given.rewriteClass != "reassociates") {
    return Status(ExitCode::Usage,
                  "--rewrite-class needs --rewrite search or joint; give both");
  }
  options.mode = *mode;
  options.most = *most;
  return Status();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static Status addPlan(const GivenOptions &given, PlanOptions &options) {
  options.cluster = given.cluster;
  options.hostInstructionSet = given.hostInstructionSet;
  options.grid.mesh = given.mesh;
  options.grid.devices = given.devices;
  options.grid.maxAxes = given.maxAxes;
  options.grid.dataParallel = given.dataParallel;
  options.grid.tensorParallel = given.tensorParallel;
  options.pipelineStages = given.pipelineParallel.value_or(1);
  for (auto *add : {addStageDevices, addBranches}) {
    if (Status status = add(given, options); !status.isOk()) {
      return status;
    }
  }
  options.chunksPerStage = given.stagesPerDevice;
  options.schedule = given.schedule;
  options.batchDim = given.batchDim;
  if (!given.zero.empty()) {
    if (auto zero = parseZero(given.zero); !zero) {
      return zero.status();
    }
  }
  options.zero = given.zero;
  if (!llvm::is_contained({"auto", "none", "full"}, given.recompute)) {
    return usage("--recompute", given.recompute, "auto, none or full");
  }
  options.recompute = given.recompute;
  if (!llvm::is_contained({"simulated", "sum"}, given.judge)) {
    return usage("--judge", given.judge, "simulated or sum");
  }
  options.judge = given.judge;
  options.solver = given.solver;
  options.seed = given.seed;
  options.work = given.limits.workOr(options.work);
  if (Status status = given.limits.check(); !status.isOk()) {
    return status;
  }
  if (!given.keep.empty() && !given.replan) {
    return Status(ExitCode::Usage, "--keep needs --replan; give both");
  }
  if (!given.memoryLimit.empty()) {
    divisi::Expected<int64_t> bytes =
        parseBytes("--memory-limit", given.memoryLimit);
    if (!bytes) {
      return bytes.status();
    }
    options.memoryLimit = *bytes;
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// What is written
//===----------------------------------------------------------------------===//

static Status addDumps(const GivenOptions &given, CompileOptions &options) {
  for (const std::string &name : given.dumpAfter) {
    std::optional<Stage> stage = parseStage(name);
    if (name == "all") {
      options.dumpAfter = allStages().vec();
    } else if (stage) {
      options.dumpAfter.push_back(*stage);
    } else {
      return usage(
          "--dump-after", name,
          "import, train, rewrite, plan, partition, schedule, lower or "
          "all");
    }
  }
  options.dumpFolder = given.dumpTo;
  return Status();
}

static Status addWeights(const GivenOptions &given, EmitOptions &options) {
  if (given.weights != "embed" && given.weights != "external") {
    return usage("--weights", given.weights, "embed or external");
  }
  options.externalWeights = given.weights == "external";
  return Status();
}

/// `all` asks for those that there are.
Status divisi::checkDumps(const GivenOptions &given,
                          const Compilation &compilation, StringRef path,
                          Stage last) {
  if (given.dumpAfter.empty() && !given.dumpTo.empty()) {
    return Status(ExitCode::Usage,
                  "--dump-to needs --dump-after, which writes the dumps");
  }
  Stage over = compilation.stage();
  bool isFresh = compilation.isModel();
  for (const std::string &name : given.dumpAfter) {
    std::optional<Stage> stage = parseStage(name);
    if (!isFresh && (stage ? *stage <= over : over >= last)) {
      return makeError(ExitCode::Usage, "--dump-after ", name, ": '",
                       path.str(), "' has been through the stage ",
                       stringifyStage(over).str(), "; expected a later one");
    }
    if (stage == Stage::Train && !compilation.isTrained()) {
      return Status(ExitCode::Usage,
                    "--dump-after train: '" + path.str() +
                        "' becomes no training step; give --train");
    }
    if (stage && *stage > last) {
      return makeError(ExitCode::Usage, "--dump-after ", name,
                       ": this verb ends with the stage ",
                       stringifyStage(last).str(), "; compile goes on");
    }
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

divisi::Expected<CompileOptions>
divisi::checkOptions(const GivenOptions &given) {
  CompileOptions options;
  divisi::Expected<std::string> level = nativeLevelOf(given);
  // Of several mistakes the first in this order is said.
  Status statuses[] = {
      addWeights(given, options.emit),  addShapes(given, options.import),
      addStates(given, options.import), addRewriting(given, options.rewrite),
      addPlan(given, options.plan),     addObjective(given, options),
      addMicroBatches(given, options),  addPrecision(given, options.precision),
      addTraining(given, options),      level.status(),
      addDevice(given, options),        addLeftOut(given, options),
      addDumps(given, options),
  };
  for (const Status &status : statuses) {
    if (!status.isOk()) {
      return status;
    }
  }
  options.nativeLevel = *level;
  options.dataFiles = given.data;
  options.overlap = given.overlap;
  options.fuse = given.fuse;
  return options;
}
