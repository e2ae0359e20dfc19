//===- Flags.cpp - Command-line flags that verbs share --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"

#include "ActsOn.h"
#include "CommandLine.h"
#include "Outputs.h"
#include "PlanWatch.h"
#include "TensorArguments.h"
#include "VerbInput.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/Support/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace divisi;

static Status usage(StringRef flag, StringRef text, StringRef expected) {
  return Status(ExitCode::Usage,
                (flag + " '" + text + "': expected " + expected).str());
}

// Longer units stand first: "B" ends them all.
divisi::Expected<int64_t> divisi::parseBytes(StringRef flag, StringRef text) {
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

divisi::Expected<std::vector<int64_t>> divisi::parseExtents(StringRef flag,
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
// Import
//===----------------------------------------------------------------------===//

ImportFlags::ImportFlags(cl::SubCommand &verb)
    : dims("dim", cl::sub(verb), on(ActsOn::Import), cl::value_desc("NAME=N"),
           cl::desc("the size of a symbolic dimension")),
      shapes("shape", cl::sub(verb), on(ActsOn::Import),
             cl::value_desc("INPUT=2x16"), cl::desc("the shape of an input")),
      shapesFrom("shapes-from", cl::sub(verb), on(ActsOn::Import),
                 cl::value_desc(kTensorArgument),
                 cl::desc("take the inputs' shapes from tensors, given as for "
                          "run --inputs")),
      constants("constant", cl::sub(verb), on(ActsOn::Import),
                cl::value_desc("INPUT=FILE"),
                cl::desc("make an input a constant, whose value the shapes "
                         "may follow from")),
      constantsFrom("constants-from", cl::sub(verb), on(ActsOn::Import),
                    cl::value_desc("FILE.npz"),
                    cl::desc("the same of every input that has a tensor of its "
                             "name in the file")),
      leaveOut("leave-out", cl::sub(verb), on(ActsOn::Import),
               cl::value_desc("PASS,..."), cl::CommaSeparated,
               cl::desc("run without these passes, to see what they bring")),
      precision("precision", cl::sub(verb), on(ActsOn::Import),
                cl::value_desc("bf16|f16"),
                cl::desc("store weights and compute in it what f32 is not "
                         "needed for; inputs and outputs keep their types")),
      keepF32("keep-f32", cl::sub(verb), on(ActsOn::Import),
              cl::value_desc("NAME,..."), cl::CommaSeparated,
              cl::desc("with --precision: what stays f32 besides: nodes, "
                       "scopes, operators, weights or outputs; * and ? stand "
                       "for any characters")) {}

std::vector<ImportOptions::Given>
divisi::labelledShapes(ArrayRef<rt::GivenTensor> tensors) {
  std::vector<ImportOptions::Given> shapes;
  for (const rt::GivenTensor &given : tensors) {
    std::optional<rt::DType> type;
    if (!given.tensor.isOpaque()) {
      type = given.tensor.type();
    }
    shapes.push_back({given.label, {given.tensor.dims(), type}});
  }
  return shapes;
}

divisi::Expected<ImportOptions> ImportFlags::options() const {
  ImportOptions options;
  for (const std::string &text : dims) {
    auto parts = splitAssignment(text);
    int64_t extent = 0;
    if (!parts || parts->second.getAsInteger(10, extent) || extent < 0) {
      return usage("--dim", text, "NAME=N with N at least 0");
    }
    options.dims[parts->first.str()] = extent;
  }
  auto tensors = readTensorArguments(shapesFrom, "input");
  if (!tensors) {
    return tensors.status();
  }
  options.tensors = labelledShapes(*tensors);
  auto values = readConstants(constants, constantsFrom);
  if (!values) {
    return values.status();
  }
  options.constants = std::move(*values);
  for (const std::string &text : shapes) {
    auto parts = splitAssignment(text);
    if (!parts) {
      return usage("--shape", text, "INPUT=2x16");
    }
    divisi::Expected<std::vector<int64_t>> extents =
        parseExtents("--shape", parts->second);
    if (!extents) {
      return extents.status();
    }
    options.inputs[parts->first.str()].dims = *extents;
  }
  return options;
}

divisi::Expected<PrecisionOptions> ImportFlags::precisionOptions() const {
  if (precision.getNumOccurrences() && precision != "bf16" &&
      precision != "f16") {
    return usage("--precision", precision, "bf16 or f16");
  }
  if (!keepF32.empty() && precision.empty()) {
    return Status(ExitCode::Usage,
                  "--keep-f32 says what --precision leaves; give both");
  }
  return PrecisionOptions{precision, {keepF32.begin(), keepF32.end()}};
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

PlanFlags::PlanFlags(cl::SubCommand &verb)
    : devices("devices", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("N"),
              cl::init(0),
              cl::desc("how many devices (1 to 4096; default: all of the "
                       "cluster, or 1)")),
      cluster("cluster", cl::sub(verb), on(ActsOn::Plan),
              cl::value_desc("PRESET"),
              cl::desc("the machine: cpu:N or dgx-h100:N")),
      mesh("mesh", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("2x4"),
           cl::desc("the axes of the grid, also as data=2,model=4")),
      maxAxes("max-axes", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("N"),
              cl::init(0),
              cl::desc("the most axes of a grid that is searched (default: 4, "
                       "or 3 for large models)")),
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
      solver("solver", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("NAME"),
             cl::init("auto"),
             cl::desc("auto, another solver of the search, or random")),
      seed("seed", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("SEED"),
           cl::init(0), cl::desc("for what the solver draws at random")),
      replan("replan", cl::sub(verb), on(ActsOn::Plan),
             cl::desc("drop the strategies of a plan and plan again")),
      keep("keep", cl::sub(verb), on(ActsOn::Plan), cl::value_desc("NAME,..."),
           cl::CommaSeparated,
           cl::desc("with --replan: leave the strategies of these nodes, "
                    "scopes, operators or globals")),
      noOverlap("no-overlap", cl::sub(verb), on(ActsOn::Schedule),
                cl::desc("no collective runs beside operators: the order of "
                         "the model stays")),
      noFuse("no-fuse", cl::sub(verb), on(ActsOn::Schedule),
             cl::desc("each operator is a call of its own, also where one "
                      "kernel could compute several")),
      native("native", cl::sub(verb), on(ActsOn::Lower),
             cl::value_desc("auto|off"), cl::init("auto"),
             cl::desc("make code of a processor of what several operators "
                      "compute in one call, where that is faster")),
      targetCpu("target-cpu", cl::sub(verb), on(ActsOn::Lower),
                cl::value_desc("cluster|host|x86-64-v3|x86-64-v4"),
                cl::init("cluster"),
                cl::desc("the processor of --native (default: the cluster's, "
                         "which for cpu:N is this one)")),
      gpu("gpu", cl::sub(verb), on(ActsOn::Lower),
          cl::value_desc("auto|off|sm_N|emulated"), cl::init("auto"),
          cl::desc("let what there are kernels for work on GPUs of NVIDIA's "
                   "from compute capability N on (80: 8.0); auto: on those of "
                   "the cluster, if it has some")),
      cubins("cubins", cl::sub(verb), on(ActsOn::Lower),
             cl::value_desc("auto|off"), cl::init("auto"),
             cl::desc("assemble kernels of GPUs where ptxas is found, for "
                      "what there is from N on, beside PTX")),
      collectives("collectives", cl::sub(verb), on(ActsOn::Lower),
                  cl::value_desc("nccl|host"), cl::init("nccl"),
                  cl::desc("with --gpu: how devices meet, in the memory of "
                           "GPUs, by NCCL, or by copies with the host")),
      limits(verb, ActsOn::Plan, PlanOptions().work) {}

// A count that is not given is searched, so its default must not count as
// given.
divisi::Expected<PlanOptions> PlanFlags::options() const {
  PlanOptions options;
  auto setCount = [](const cl::opt<int64_t> &flag,
                     std::optional<int64_t> &count) {
    if (flag.getNumOccurrences()) {
      count = flag;
    }
  };
  options.cluster = cluster;
  options.hostInstructionSet = hostInstructionSet();
  options.grid.mesh = mesh;
  setCount(devices, options.grid.devices);
  setCount(maxAxes, options.grid.maxAxes);
  setCount(dataParallel, options.grid.dataParallel);
  setCount(tensorParallel, options.grid.tensorParallel);
  options.batchDim = batchDim;
  options.solver = solver;
  options.seed = seed;
  options.work = limits.work();
  if (Status status = limits.check(); !status.isOk()) {
    return status;
  }
  if (!keep.empty() && !replan) {
    return Status(ExitCode::Usage,
                  "--keep says what --replan leaves; give both");
  }
  if (!memoryLimit.empty()) {
    divisi::Expected<int64_t> bytes = parseBytes("--memory-limit", memoryLimit);
    if (!bytes) {
      return bytes.status();
    }
    options.memoryLimit = *bytes;
  }
  return options;
}

Status PlanFlags::dropPlan(Compilation &compilation) const {
  return replan ? compilation.replan(keep) : Status();
}

//===----------------------------------------------------------------------===//
// Dumps
//===----------------------------------------------------------------------===//

DumpFlags::DumpFlags(cl::SubCommand &verb)
    : after("dump-after", cl::sub(verb), on(ActsOn::Dump),
            cl::value_desc("STAGE"),
            cl::desc("write the module after import, plan, partition, "
                     "schedule, lower or all")),
      folder("dump-to", cl::sub(verb), on(ActsOn::Dump),
             cl::value_desc("FOLDER"),
             cl::desc("where dumps go, as MODEL.STAGE.mlir (default: the "
                      "output's folder)")) {}

Status DumpFlags::apply(CompileOptions &options, StringRef output) const {
  for (const std::string &name : after) {
    std::optional<Stage> stage = parseStage(name);
    if (name == "all") {
      options.dumpAfter = allStages().vec();
    } else if (stage) {
      options.dumpAfter.push_back(*stage);
    } else {
      return usage("--dump-after", name,
                   "import, plan, partition, schedule, lower or all");
    }
  }
  options.dumpFolder =
      folder.empty() ? sys::path::parent_path(output).str() : folder.getValue();
  options.dumped = [progress = options.progress](const std::string &path,
                                                 Stage stage, int64_t bytes) {
    if (progress) {
      progress(""); // The line of progress makes room.
    }
    tellWritten(path, ("module after " + stringifyStage(stage)).str(), bytes);
  };
  return Status();
}

divisi::Expected<bool> DumpFlags::replaces(StringRef output) const {
  if (!isStdout(output.str()) || after.empty() || !folder.empty()) {
    return false;
  }
  if (after.size() > 1 || after.front() == "all") {
    return Status(ExitCode::Usage,
                  "-o - has room for one dump, so --dump-after takes one stage "
                  "there; or say by --dump-to where dumps go");
  }
  return true;
}

/// `all` asks for those that there are.
Status DumpFlags::check(const Compilation &compilation, StringRef path,
                        Stage last) const {
  if (after.empty() && !folder.empty()) {
    return Status(ExitCode::Usage, "--dump-to says where dumps go, and there "
                                   "are none; --dump-after makes them");
  }
  Stage over = compilation.stage();
  bool isFresh = compilation.isModel();
  for (const std::string &name : after) {
    std::optional<Stage> stage = parseStage(name);
    if (!isFresh && (stage ? *stage <= over : over >= last)) {
      return makeError(ExitCode::Usage, "--dump-after ", name, ": '",
                       path.str(), "' has been through the stage ",
                       stringifyStage(over).str(), "; expected a later one");
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

Status divisi::gatherOptions(const ImportFlags &importFlags,
                             const PlanFlags &planFlags,
                             CompileOptions &options) {
  divisi::Expected<ImportOptions> import = importFlags.options();
  if (!import) {
    return import.status();
  }
  divisi::Expected<PlanOptions> plan = planFlags.options();
  if (!plan) {
    return plan.status();
  }
  divisi::Expected<PrecisionOptions> precision = importFlags.precisionOptions();
  if (!precision) {
    return precision.status();
  }
  divisi::Expected<std::string> nativeLevel = planFlags.nativeLevel();
  if (!nativeLevel) {
    return nativeLevel.status();
  }
  if (Status status = planFlags.chooseDevice(options); !status.isOk()) {
    return status;
  }
  divisi::Expected<std::vector<std::string>> leftOut = importFlags.leftOut();
  if (!leftOut) {
    return leftOut.status();
  }
  options.leaveOut = *leftOut;
  options.nativeLevel = *nativeLevel;
  options.import = *import;
  options.precision = *precision;
  options.plan = *plan;
  options.overlap = !planFlags.noOverlap;
  options.fuse = !planFlags.noFuse;
  watchPlanning(options, planFlags.limits.seconds());
  options.lowered = [progress =
                         options.progress](const PrecisionRecord &record) {
    if (progress) {
      progress(""); // The line of progress makes room.
    }
    errs() << "divisi: note: " << describe(record) << "\n";
  };
  return Status();
}

// A plan that somebody wrote by hand names no machine, so --cluster does.
Status divisi::loadInput(Compilation &compilation, const std::string &path,
                         cl::SubCommand &verb, const PlanFlags &flags,
                         ArrayRef<const cl::Option *> honoured) {
  if (Status status = compilation.load(path); !status.isOk()) {
    return status;
  }
  VerbInput input = compilation.isModel()
                        ? VerbInput(path, VerbInput::Kind::Model)
                        : VerbInput(path, compilation.stage());
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
