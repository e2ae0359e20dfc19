//===- Options.h - Options as callers give them -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line has flags, a C program and Python have arguments. All of
// them fill a GivenOptions, and checkOptions makes CompileOptions of it, so
// that one mistake gets one message and one exit code wherever it is made.
// Messages name an option as the command line does: `--memory-limit '7XB':
// expected a size such as 70GiB, 512MiB or 1000000`.
//
// What options say together with an input is checked once that is read:
// GivenInput.h, and checkDumps.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_OPTIONS_H
#define DIVISI_COMPILER_OPTIONS_H

#include "divisi/Compiler/Compilation.h"
#include "divisi/Search/Limits.h"
#include "divisi/runtime/core/GivenTensors.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// Options as callers give them: texts are not parsed, and what is unset has
/// its default. Tensors (shapes from them, constants) are not among them: these
/// are set in CompileOptions::import, once they are read. Nor is what stands in
/// files of rules, which is set in CompileOptions::rules once it is proved.
struct GivenOptions {
  // Of models and dumps.
  std::vector<std::string> dims;       ///< --dim, each `NAME=N`.
  std::vector<std::string> shapes;     ///< --shape, each `INPUT=2x16`.
  std::vector<std::string> states;     ///< --state, each `PAST=PRESENT`.
  std::optional<int64_t> maxTripCount; ///< --max-trip-count
  /// --shared-inputs, names, or `none` alone; empty: they are found.
  std::vector<std::string> sharedInputs;
  std::vector<std::string> leaveOut;    ///< --leave-out, names of passes.
  std::vector<std::string> rules;       ///< --rules, files.
  std::optional<std::string> precision; ///< --precision, `bf16` or `f16`.
  std::vector<std::string> keepF32;     ///< --keep-f32, with a precision.
  /// --reduce-precision, `bf16`, `f16` or `f32`.
  std::optional<std::string> reducePrecision;

  // Of training.
  bool train = false;         ///< --train
  TrainOptions training;      ///< What its flags say, but for those below.
  std::optional<double> rate; ///< --lr
  std::optional<double> weightDecay; ///< --weight-decay
  /// Those that were given, of the flags that need --train: `--lr`, …
  std::vector<std::string> trainFlags;

  std::vector<std::string> data; ///< --data, files and folders of a dump.

  // Of rewriting.
  std::string rewrite = "joint";             ///< --rewrite
  std::string rewriteClass = "reassociates"; ///< --rewrite-class

  // Of plans.
  std::string cluster;                   ///< --cluster, a preset or a file.
  std::string hostInstructionSet;        ///< PlanOptions::hostInstructionSet
  std::string mesh;                      ///< --mesh, `2x4`.
  std::optional<int64_t> devices;        ///< --devices
  std::optional<int64_t> maxAxes;        ///< --max-axes
  std::optional<int64_t> dataParallel;   ///< --data-parallel-size
  std::optional<int64_t> tensorParallel; ///< --tensor-parallel-size
  /// --pipeline-parallel-size; without, one is searched for micro-batches.
  std::optional<int64_t> pipelineParallel;
  std::string stageDevices; ///< --stage-devices, `2,1`.
  /// --branch-parallel, auto or off.
  std::optional<std::string> branchParallel;
  int64_t stagesPerDevice = 0;   ///< --num-stages-per-device
  std::string schedule = "auto"; ///< --schedule
  /// --micro-batches, a number or `auto`; without, 1, or `auto` where
  /// throughput is wanted.
  std::optional<std::string> microBatches;
  std::optional<std::string> objective; ///< --objective
  int64_t batchDim = 0;                 ///< --batch-dim
  std::string memoryLimit;              ///< --memory-limit, `70GiB`.
  std::string zero;                     ///< --zero, `3` or `8,8,64`.
  std::string recompute = "auto";       ///< --recompute
  std::string judge = "simulated";      ///< --judge, `simulated` or `sum`.
  std::string solver = "auto";          ///< --solver
  uint64_t seed = 0;                    ///< --seed
  search::GivenLimits limits;           ///< --time-limit, --work-limit
  bool replan = false;                  ///< --replan
  std::vector<std::string> keep;        ///< --keep, with --replan.

  // Of schedules, and of code.
  bool overlap = true;         ///< Not --no-overlap.
  bool fuse = true;            ///< Not --no-fuse.
  std::string native = "auto"; ///< --native, `auto` or `off`.
  std::string targetCpu =
      "cluster";               ///< --target-cpu, `cluster`, `host`, a level.
  std::string gpu = "auto";    ///< --gpu, `auto`, `off`, `sm_90`, …
  std::string cubins = "auto"; ///< --cubins, `auto` or `off`.
  std::string collectives = "nccl"; ///< --collectives, `nccl` or `host`.

  // Of what is written.
  std::string weights = "embed";      ///< --weights, `embed` or `external`.
  std::vector<std::string> dumpAfter; ///< --dump-after, stages or `all`.
  std::string dumpTo;                 ///< --dump-to, a folder.
};

/// The compilation that `given` asks for, without tensors and without those who
/// are told of its progress. ExitCode::Usage for a value that an option does
/// not take, and for options that need others. What the cluster does not have
/// is found by the planner.
Expected<CompileOptions> checkOptions(const GivenOptions &given);

/// ExitCode::Usage for a dump of `given` after a stage that `compilation`,
/// having read `path`, does not go through on its way to `last`.
Status checkDumps(const GivenOptions &given, const Compilation &compilation,
                  llvm::StringRef path, Stage last);

/// What tensors say of the inputs that they are for.
std::vector<ImportOptions::Given>
labelledShapes(llvm::ArrayRef<rt::GivenTensor> tensors);

} // namespace divisi

#endif // DIVISI_COMPILER_OPTIONS_H
