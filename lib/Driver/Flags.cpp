//===- Flags.cpp - Command-line flags that verbs share --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"

#include "ActsOn.h"
#include "Console.h"
#include "Outputs.h"
#include "PlanWatch.h"
#include "TensorArguments.h"
#include "VerbInput.h"
#include "Verbs.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/Rewrite/UserRules.h"
#include "divisi/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace divisi;

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

ImportFlags::ImportFlags(cl::SubCommand &verb)
    : data("data", cl::sub(verb), on(ActsOn::Emit),
           cl::value_desc("FILE|FOLDER"),
           cl::desc("of a dump: read weights from this file, or from this "
                    "folder, instead of beneath the dump's folder")),
      dims("dim", cl::sub(verb), on(ActsOn::Import), cl::value_desc("NAME=N"),
           cl::desc("the size of a symbolic dimension")),
      shapes("shape", cl::sub(verb), on(ActsOn::Import),
             cl::value_desc("INPUT=2x16"), cl::desc("the shape of an input")),
      shapesFrom("shapes-from", cl::sub(verb), on(ActsOn::Import),
                 cl::value_desc(kTensorArgument),
                 cl::desc("take the inputs' shapes from tensors, given as for "
                          "run --inputs")),
      constants("constant", cl::sub(verb), on(ActsOn::Import),
                cl::value_desc("INPUT=FILE"),
                cl::desc("make an input a constant, so that shapes may depend "
                         "on its value")),
      constantsFrom("constants-from", cl::sub(verb), on(ActsOn::Import),
                    cl::value_desc("FILE.npz"),
                    cl::desc("the same for every input that has a tensor of "
                             "its name in the file")),
      states("state", cl::sub(verb), on(ActsOn::Import),
             cl::value_desc("INPUT=OUTPUT"),
             cl::desc("a run takes this input from the run before, whose "
                      "output it is (a cache): devices keep it; one * in both "
                      "stands for the same text")),
      sharedInputs("shared-inputs", cl::sub(verb), on(ActsOn::Import),
                   cl::value_desc("NAME,...|none"), cl::CommaSeparated,
                   cl::desc("inputs without a batch, which all micro-batches "
                            "and steps read as they are (default: those whose "
                            "first dim is not the batch of the others)")),
      maxTripCount("max-trip-count", cl::sub(verb), on(ActsOn::Import),
                   cl::value_desc("N"),
                   cl::desc("the most steps of a loop whose number of steps "
                            "only the run knows; more end the run")),
      leaveOut("leave-out", cl::sub(verb), on(ActsOn::Import),
               cl::value_desc("PASS,..."), cl::CommaSeparated,
               cl::desc("run without these passes, to see their effect")),
      rules("rules", cl::sub(verb), on(ActsOn::Import), cl::value_desc("FILE"),
            cl::desc("apply the rules of this file, too, before Divisi's; "
                     "what is not proved yet, is proved first")),
      precision("precision", cl::sub(verb), on(ActsOn::Import),
                cl::value_desc("bf16|f16"),
                cl::desc("store weights and compute in this type where f32 is "
                         "not needed; inputs and outputs keep their types")),
      keepF32(
          "keep-f32", cl::sub(verb), on(ActsOn::Import),
          cl::value_desc("NAME,..."), cl::CommaSeparated,
          cl::desc(
              "with --precision: nodes, scopes, operators, weights or outputs "
              "that stay f32, too; * and ? stand for any characters")),
      reducePrecision(
          "reduce-precision", cl::sub(verb), on(ActsOn::Import),
          cl::value_desc("bf16|f16|f32"),
          cl::desc("with --precision: the type of sums of products with "
                   "weights, in which their parts travel between devices "
                   "(default: f32)")),
      train(verb) {}

static std::vector<std::string> textsOf(const cl::list<std::string> &flag) {
  return {flag.begin(), flag.end()};
}

void ImportFlags::fill(GivenOptions &options) const {
  options.data = textsOf(data);
  options.dims = textsOf(dims);
  options.shapes = textsOf(shapes);
  options.states = textsOf(states);
  options.sharedInputs = textsOf(sharedInputs);
  if (maxTripCount.getNumOccurrences()) {
    options.maxTripCount = maxTripCount.getValue();
  }
  options.leaveOut = textsOf(leaveOut);
  options.rules = textsOf(rules);
  if (precision.getNumOccurrences()) {
    options.precision = precision.getValue();
  }
  options.keepF32 = textsOf(keepF32);
  if (reducePrecision.getNumOccurrences()) {
    options.reducePrecision = reducePrecision.getValue();
  }
  train.fill(options);
}

Status ImportFlags::readTensors(ImportOptions &options) const {
  auto tensors = readTensorArguments(shapesFrom, "input");
  if (!tensors) {
    return tensors.status();
  }
  // What a step is run with: the labels are the step's, not the model's.
  if (train.train && train.loss != "output") {
    llvm::erase_if(*tensors, [&](const rt::GivenTensor &tensor) {
      return tensor.label.name == train.labels;
    });
  }
  options.tensors = labelledShapes(*tensors);
  auto values = readConstants(constants, constantsFrom);
  if (!values) {
    return values.status();
  }
  options.constants = std::move(*values);
  return Status();
}

Status ImportFlags::readRules(CompileOptions &options) const {
  if (rules.empty()) {
    return Status();
  }
  auto read = rewrite::proveUserRules(textsOf(rules), pathOf("divisi-rules"));
  if (!read) {
    return read.status();
  }
  if (read->proved != 0) {
    sayNote() << countText(int64_t(read->proved), "rule")
              << " of --rules proved, which is not done again";
  }
  if (!read->idle.empty()) {
    sayNote() << "--rules: by " << join(read->idle, ", ")
              << " nothing takes less at any sizes that were tried, so that is "
                 "not applied";
  }
  options.rules = std::make_shared<const std::vector<rewrite::ProvedRule>>(
      std::move(read->rules));
  return Status();
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

PlanFlags::PlanFlags(cl::SubCommand &verb)
    : rewrite("rewrite", cl::sub(verb), on(ActsOn::Rewrite),
              cl::value_desc("off|greedy|search|joint"), cl::init("joint"),
              cl::desc("apply proved rules: for the cheapest plan (joint, the "
                       "default) or program (search), where they take less "
                       "(greedy), or none (off)")),
      rewriteClass("rewrite-class", cl::sub(verb), on(ActsOn::Rewrite),
                   cl::value_desc("bit-exact|reassociates"),
                   cl::init("reassociates"),
                   cl::desc("with search or joint: how numbers may change")),
      devices("devices", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("N"),
              cl::init(0),
              cl::desc("number of devices (1 to 4096; default: all of the "
                       "cluster, or 1)")),
      cluster("cluster", cl::sub(verb), on(ActsOn::Plan),
              cl::value_desc("PRESET"),
              cl::desc("the machine: cpu:N or dgx-h100:N")),
      mesh("mesh", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("2x4"),
           cl::desc("the axes of the grid, also as data=2,model=4")),
      maxAxes("max-axes", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("N"),
              cl::init(0),
              cl::desc("the maximum number of axes of a searched grid "
                       "(default: 4; 2 or 3 for large models)")),
      dataParallel("data-parallel-size", cl::sub(verb), on(ActsOn::Plan),
                   cl::value_desc("N"), cl::init(0),
                   cl::desc("how many ways the batch is split (default: "
                            "searched)")),
      tensorParallel("tensor-parallel-size", cl::sub(verb), on(ActsOn::Plan),
                     cl::value_desc("N"), cl::init(0),
                     cl::desc("how many ways the model is split (default: "
                              "searched)")),
      batchDim("batch-dim", cl::sub(verb), on(ActsOn::Plan),
               cl::value_desc("D"), cl::init(0),
               cl::desc("which dimension of the inputs is the batch")),
      memoryLimit("memory-limit", cl::sub(verb), on(ActsOn::Plan),
                  cl::value_desc("70GiB"),
                  cl::desc("bytes per device (default: the cluster's)")),
      judge("judge", cl::sub(verb), on(ActsOn::Plan),
            cl::value_desc("simulated|sum"), cl::init("simulated"),
            cl::desc("what decides between plans: time with overlap, or sum")),
      solver("solver", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("NAME"),
             cl::init("auto"),
             cl::desc("auto, another of the search, or random, for tests")),
      seed("seed", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("SEED"),
           cl::init(0), cl::desc("the seed of the solver's random numbers")),
      replan("replan", cl::sub(verb), on(ActsOn::Plan),
             cl::desc("drop the strategies of a plan and plan again")),
      keep("keep", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("NAME,..."),
           cl::CommaSeparated,
           cl::desc("with --replan: leave the strategies of these nodes, "
                    "scopes, operators or globals")),
      noOverlap("no-overlap", cl::sub(verb), on(ActsOn::Schedule),
                cl::desc("do not overlap collectives with operators: keep the "
                         "order of the model")),
      noFuse("no-fuse", cl::sub(verb), on(ActsOn::Schedule),
             cl::desc("make each operator a separate call, even if one kernel "
                      "could compute several")),
      native("native", cl::sub(verb), on(ActsOn::Lower),
             cl::value_desc("auto|off"), cl::init("auto"),
             cl::desc("make native code of fused operators if it is faster")),
      targetCpu("target-cpu", cl::sub(verb), on(ActsOn::Lower),
                cl::value_desc("cluster|host|x86-64-v3|x86-64-v4"),
                cl::init("cluster"),
                cl::desc("the target processor of --native (default: the "
                         "cluster's, which is this one for cpu:N)")),
      gpu("gpu", cl::sub(verb), on(ActsOn::Lower),
          cl::value_desc("auto|off|sm_N|emulated"), cl::init("auto"),
          cl::desc("run operators that have kernels on NVIDIA GPUs of compute "
                   "capability N or later (80: 8.0); auto: on the cluster's "
                   "GPUs, if it has any")),
      cubins("cubins", cl::sub(verb), on(ActsOn::Lower),
             cl::value_desc("auto|off"), cl::init("auto"),
             cl::desc("assemble GPU kernels for capabilities from N on, in "
                      "addition to PTX, if ptxas is found")),
      collectives("collectives", cl::sub(verb), on(ActsOn::Lower),
                  cl::value_desc("nccl|host"), cl::init("nccl"),
                  cl::desc("with --gpu: how devices communicate: by NCCL, in "
                           "GPU memory, or through the host")),
      pipeline(verb), states(verb),
      limits(verb, ActsOn::Plan, PlanOptions().work) {}

// A count that is not given is searched, so its default must not count as
// given.
void PlanFlags::fill(GivenOptions &options) const {
  auto setCount = [](const cl::opt<int64_t> &flag,
                     std::optional<int64_t> &count) {
    if (flag.getNumOccurrences()) {
      count = flag;
    }
  };
  options.rewrite = rewrite;
  options.rewriteClass = rewriteClass;
  setCount(devices, options.devices);
  setCount(maxAxes, options.maxAxes);
  setCount(dataParallel, options.dataParallel);
  setCount(tensorParallel, options.tensorParallel);
  pipeline.fill(options);
  options.cluster = cluster;
  options.hostInstructionSet = hostInstructionSet();
  options.mesh = mesh;
  options.batchDim = batchDim;
  options.memoryLimit = memoryLimit;
  states.fill(options);
  options.judge = judge;
  options.solver = solver;
  options.seed = seed;
  options.limits = limits.given();
  options.replan = replan;
  options.keep = textsOf(keep);
  options.overlap = !noOverlap;
  options.fuse = !noFuse;
  options.native = native;
  options.targetCpu = targetCpu;
  options.gpu = gpu;
  options.cubins = cubins;
  options.collectives = collectives;
}

Status PlanFlags::dropPlan(Compilation &compilation) const {
  if (!replan) {
    return Status();
  }
  Status status = compilation.keepRequest(
      !keep.empty(), [](const std::string &text) { sayNote() << text; });
  return status.isOk() ? compilation.replan(keep) : status;
}

//===----------------------------------------------------------------------===//
// Dumps
//===----------------------------------------------------------------------===//

DumpFlags::DumpFlags(cl::SubCommand &verb)
    : after("dump-after", cl::sub(verb), on(ActsOn::Dump),
            cl::value_desc("STAGE"),
            cl::desc("write the module after import, train, rewrite, plan, "
                     "partition, schedule, lower or all")),
      folder("dump-to", cl::sub(verb), on(ActsOn::Dump),
             cl::value_desc("FOLDER"),
             cl::desc("the folder for dumps, named MODEL.STAGE.mlir (default: "
                      "the output's folder)")) {}

void DumpFlags::fill(GivenOptions &options) const {
  options.dumpAfter = textsOf(after);
  options.dumpTo = folder;
}

void DumpFlags::place(CompileOptions &options, StringRef output) const {
  if (folder.empty()) {
    options.dumpFolder = sys::path::parent_path(output).str();
  }
  options.dumped = [progress = options.progress](const std::string &path,
                                                 Stage stage, int64_t bytes) {
    if (progress) {
      progress(""); // The line of progress makes room.
    }
    tellWritten(path, ("module after " + stringifyStage(stage)).str(), bytes);
  };
}

divisi::Expected<bool> DumpFlags::replaces(StringRef output) const {
  if (!isStdout(output.str()) || after.empty() || !folder.empty()) {
    return false;
  }
  if (after.size() > 1 || after.front() == "all") {
    return Status(ExitCode::Usage,
                  "-o - takes one dump, so --dump-after takes one stage there; "
                  "or give a folder by --dump-to");
  }
  return true;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

divisi::Expected<CompileOptions>
divisi::gatherOptions(const ImportFlags &importFlags,
                      const PlanFlags &planFlags, GivenOptions given) {
  importFlags.fill(given);
  planFlags.fill(given);
  divisi::Expected<CompileOptions> options = checkOptions(given);
  if (!options) {
    return options;
  }
  Status status = importFlags.readTensors(options->import);
  if (status.isOk()) {
    status = importFlags.readRules(*options);
  }
  if (!status.isOk()) {
    return status;
  }
  watchPlanning(*options, given.limits.seconds);
  options->lowered = [progress =
                          options->progress](const PrecisionRecord &record) {
    if (progress) {
      progress(""); // The line of progress makes room.
    }
    sayNote() << describe(record);
  };
  options->import.note = [progress =
                              options->progress](const std::string &note) {
    if (progress) {
      progress("");
    }
    sayNote() << note;
  };
  options->trained = [progress =
                          options->progress](const TrainedWeights &weights) {
    if (progress) {
      progress("");
    }
    sayNote() << describe(weights);
  };
  options->warned = [progress = options->progress](const std::string &text) {
    if (progress) {
      progress("");
    }
    sayWarning() << text;
  };
  return options;
}

// A plan that somebody wrote by hand names no machine, so --cluster does.
Status divisi::loadInput(Compilation &compilation, const std::string &path,
                         cl::SubCommand &verb, const PlanFlags &flags,
                         ArrayRef<const cl::Option *> honoured,
                         const std::string &pipeName) {
  if (Status status = compilation.load(path, pipeName); !status.isOk()) {
    return status;
  }
  const std::string &name = path == "-" ? pipeName : path;
  VerbInput input = compilation.isModel()
                        ? VerbInput(name, VerbInput::Kind::Model)
                        : VerbInput(name, compilation.stage());
  for (const cl::Option *option : honoured) {
    input.honour(*option);
  }
  if (compilation.stage() == Stage::Plan && !compilation.notesCluster()) {
    input.honour(flags.cluster);
  }
  if (Status status = input.check(verb, flags.replan); !status.isOk()) {
    return status;
  }
  return flags.dropPlan(compilation);
}
