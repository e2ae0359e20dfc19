//===- Flags.h - Command-line flags that verbs share ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of flags belongs to the verbs that construct it, each for its own
// sub-command, and turns into the options of the room that it steers.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_FLAGS_H
#define DIVISI_LIB_DRIVER_FLAGS_H

#include "LimitFlags.h"
#include "TrainFlags.h"
#include "divisi/Compiler/Options.h"

#include "llvm/Support/CommandLine.h"

#include <string>

namespace divisi {

/// What is read, and how large its symbolic dimensions are.
struct ImportFlags {
  /// Adds --data, --dim, --shape, --shapes-from, --constant, --constants-from,
  /// --state, --shared-inputs, --max-trip-count, --leave-out, --rules,
  /// --precision, --keep-f32, --reduce-precision and those of TrainFlags to
  /// `verb`.
  explicit ImportFlags(llvm::cl::SubCommand &verb);
  /// Copies what was given, but files, to `options`.
  void fill(GivenOptions &options) const;
  /// Reads the files of --shapes-from, --constant and --constants-from. Fails
  /// as readTensorArguments and readConstants do.
  Status readTensors(ImportOptions &options) const;
  /// Reads the files of --rules, and has proved what is not known to be. Fails
  /// as rewrite::proveUserRules does.
  Status readRules(CompileOptions &options) const;

  /// As they were given.
  llvm::cl::list<std::string> data;
  llvm::cl::list<std::string> dims;
  llvm::cl::list<std::string> shapes;
  llvm::cl::list<std::string> shapesFrom;
  llvm::cl::list<std::string> constants;
  llvm::cl::list<std::string> constantsFrom;
  llvm::cl::list<std::string> states;
  llvm::cl::list<std::string> sharedInputs;
  llvm::cl::opt<int64_t> maxTripCount;
  llvm::cl::list<std::string> leaveOut;
  llvm::cl::list<std::string> rules;
  llvm::cl::opt<std::string> precision;
  llvm::cl::list<std::string> keepF32;
  llvm::cl::opt<std::string> reducePrecision;
  TrainFlags train;
};

/// What of a pipeline is asked for.
struct PipelineFlags {
  /// Adds --pipeline-parallel-size, --stage-devices, --branch-parallel,
  /// --num-stages-per-device, --schedule, --micro-batches and --objective to
  /// `verb`.
  explicit PipelineFlags(llvm::cl::SubCommand &verb);
  /// Copies what was given to `options`.
  void fill(GivenOptions &options) const;

  /// As they were given.
  llvm::cl::opt<int64_t> stages;
  llvm::cl::opt<std::string> sizes;
  llvm::cl::opt<std::string> branches;
  llvm::cl::opt<int64_t> chunks;
  llvm::cl::opt<std::string> schedule;
  llvm::cl::opt<std::string> microBatches;
  llvm::cl::opt<std::string> objective;
};

/// What the planner is asked of the states and the memory of a training step.
struct StateFlags {
  /// Adds --zero and --recompute to `verb`.
  explicit StateFlags(llvm::cl::SubCommand &verb);
  /// Copies what was given to `options`.
  void fill(GivenOptions &options) const;

  /// As they were given.
  llvm::cl::opt<std::string> zero;
  llvm::cl::opt<std::string> recompute;
};

/// What the planner is asked for.
struct PlanFlags {
  /// Adds --devices and what else the planner takes to `verb`.
  explicit PlanFlags(llvm::cl::SubCommand &verb);
  /// Copies what was given to `options`.
  void fill(GivenOptions &options) const;
  /// Drops the plan of what `compilation` has read, but what --keep names, if
  /// --replan was given. ExitCode::Usage for a name that means nothing.
  Status dropPlan(Compilation &compilation) const;

  /// As they were given.
  llvm::cl::opt<std::string> rewrite;
  llvm::cl::opt<std::string> rewriteClass;
  llvm::cl::opt<int64_t> devices;
  llvm::cl::opt<std::string> cluster;
  llvm::cl::opt<std::string> mesh;
  llvm::cl::opt<int64_t> maxAxes;
  llvm::cl::opt<int64_t> dataParallel;
  llvm::cl::opt<int64_t> tensorParallel;
  llvm::cl::opt<int64_t> batchDim;
  llvm::cl::opt<std::string> memoryLimit;
  llvm::cl::opt<std::string> judge;
  llvm::cl::opt<std::string> solver;
  llvm::cl::opt<uint64_t> seed;
  llvm::cl::opt<bool> replan;
  llvm::cl::list<std::string> keep;
  llvm::cl::opt<bool> noOverlap;
  llvm::cl::opt<bool> noFuse;
  llvm::cl::opt<std::string> native;
  llvm::cl::opt<std::string> targetCpu;
  llvm::cl::opt<std::string> gpu;
  llvm::cl::opt<std::string> cubins;
  llvm::cl::opt<std::string> collectives;
  PipelineFlags pipeline;
  StateFlags states;
  LimitFlags limits;
};

/// Where the intermediate languages are written.
struct DumpFlags {
  /// Adds --dump-after and --dump-to to `verb`.
  explicit DumpFlags(llvm::cl::SubCommand &verb);
  /// Copies what was given to `options`.
  void fill(GivenOptions &options) const;
  /// Lets dumps of `options` go beside `output` unless --dump-to is given. Each
  /// is said when it is written.
  void place(CompileOptions &options, llvm::StringRef output) const;
  /// Whether the dump is all that is wanted, in the place of `output`: that is
  /// stdout, and dumps have no other place. ExitCode::Usage where they are more
  /// than one.
  Expected<bool> replaces(llvm::StringRef output) const;

  /// As they were given.
  llvm::cl::list<std::string> after;
  llvm::cl::opt<std::string> folder;
};

/// The options that both groups give, on top of `given`, with their files.
/// Signals and limits will cut planning. Fails as checkOptions does, and as
/// ImportFlags::readTensors and readRules.
Expected<CompileOptions> gatherOptions(const ImportFlags &importFlags,
                                       const PlanFlags &planFlags,
                                       GivenOptions given = {});

/// Lets `compilation` read `path`, where `pipeName` is how messages call what
/// "-" leads to, and compares the options that `verb` was
/// given with what that is; a plan is dropped if --replan says so.
/// ExitCode::Usage, or what Compilation::load says.
Status loadInput(Compilation &compilation, const std::string &path,
                 llvm::cl::SubCommand &verb, const PlanFlags &flags,
                 llvm::ArrayRef<const llvm::cl::Option *> honoured = {},
                 const std::string &pipeName = "stdin");

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_FLAGS_H
