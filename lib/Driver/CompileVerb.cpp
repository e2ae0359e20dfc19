//===- CompileVerb.cpp - divisi compile and divisi plan -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Console.h"
#include "Flags.h"
#include "OutputFlag.h"
#include "Outputs.h"
#include "Verbs.h"
#include "WriteArtifact.h"
#include "dialects/Exec/Exec.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Support/Units.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace llvm;
using namespace divisi;

namespace {

/// What compile and plan have in common.
class ModelVerb : public Verb {
protected:
  /// Ends with the stage `last`.
  ModelVerb(StringRef name, Stage last) : Verb(name), last_(last) {}

  /// Loads the input: a compilation that writes to `output`, the dump after
  /// `dumpStage` if that is what goes there.
  divisi::Expected<std::unique_ptr<Compilation>>
  load(const std::string &output, std::optional<Stage> dumpStage = std::nullopt,
       GivenOptions given = {});

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("MODEL.onnx|IR.mlir|-")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  DumpFlags dumpFlags_{command};
  OutputFlag output_{
      command, "OUT",
      cl::desc(
          "the output file; - is stdout, to which the one dump of --dump-after "
          "STAGE is written instead, and compilation ends there")};

private:
  Status checkStage(const GivenOptions &given,
                    const Compilation &compilation) const;
  Status checkFiles(OutputCheck files, const std::string &output,
                    Compilation &compilation) const;

  const Stage last_;
};

class CompileVerb : public ModelVerb {
public:
  CompileVerb() : ModelVerb("compile", Stage::Lower) {}
  Status run() override;

private:
  GivenOptions given() const;
  Status writeArtifact();
  Status writeDump();

  WeightsFlag weights_{command};
};

class PlanVerb : public ModelVerb {
public:
  PlanVerb() : ModelVerb("plan", Stage::Plan) {}
  Status run() override;
};

} // namespace

/// What the model has beside it, and the dumps, are known once it is loaded.
Status ModelVerb::checkFiles(OutputCheck files, const std::string &output,
                             Compilation &compilation) const {
  for (const std::string &file : compilation.dataFiles()) {
    files.addInput("data of the model", file);
  }
  // Now that all inputs are known, the output once more.
  Status status;
  if (!output.empty()) {
    status = files.addOutput("-o", output);
  }
  for (const std::string &path : compilation.dumpPaths()) {
    if (status.isOk()) {
      status = files.addOutput("the dump", path);
    }
  }
  return status;
}

/// What was read has a way to go, and every dump lies on it.
Status ModelVerb::checkStage(const GivenOptions &given,
                             const Compilation &compilation) const {
  if (compilation.stage() > last_) {
    return Status(ExitCode::Usage,
                  "'" + input_ + "' has been through the stage " +
                      stringifyStage(compilation.stage()).str() + ", and " +
                      command.getName().str() + " ends with the stage " +
                      stringifyStage(last_).str() +
                      "; compile goes on from it");
  }
  return checkDumps(given, compilation, input_, last_);
}

divisi::Expected<std::unique_ptr<Compilation>>
ModelVerb::load(const std::string &output, std::optional<Stage> dumpStage,
                GivenOptions given) {
  dumpFlags_.fill(given);
  divisi::Expected<CompileOptions> options =
      gatherOptions(importFlags_, planFlags_, given);
  if (!options) {
    return options.status();
  }
  dumpFlags_.place(*options, output);
  if (dumpStage) {
    options->dumpFile = output;
  }
  OutputCheck inputs;
  inputs.addInput("the input", input_);
  for (const std::string &path : importFlags_.rules) {
    inputs.addInput("a file of --rules", path);
  }
  inputs.addTensors("a file of --shapes-from", importFlags_.shapesFrom);
  inputs.addTensors("a file of --constant", importFlags_.constants);
  inputs.addTensors("a file of --constants-from", importFlags_.constantsFrom);
  OutputCheck files = inputs;
  Status status = files.addOutput("-o", output);
  auto compilation = std::make_unique<Compilation>(std::move(*options));
  if (status.isOk()) {
    status = loadInput(*compilation, input_, command, planFlags_);
  }
  if (status.isOk()) {
    status = checkStage(given, *compilation);
  }
  if (status.isOk()) {
    status = checkFiles(inputs, dumpStage ? "" : output, *compilation);
  }
  if (!status.isOk()) {
    return status;
  }
  return compilation;
}

// Usage is checked before the minutes that a compilation takes.
Status CompileVerb::run() {
  if (output_.empty()) {
    return Status(ExitCode::Usage, "compile needs -o OUT.divisi");
  }
  divisi::Expected<bool> isDump = dumpFlags_.replaces(output_);
  if (!isDump) {
    return isDump.status();
  }
  return *isDump ? writeDump() : writeArtifact();
}

GivenOptions CompileVerb::given() const {
  GivenOptions given;
  given.weights = weights_;
  return given;
}

/// The dump that is asked for, which endStage writes.
Status CompileVerb::writeDump() {
  std::optional<Stage> stage = parseStage(dumpFlags_.after.front());
  auto compilation = load(output_, stage, given());
  if (!compilation) {
    return compilation.status();
  }
  return (*compilation)->advanceTo(stage.value_or(Stage::Lower));
}

/// `a run needs 8 GB per device`, or `8 GB per a100 and 2 GB per v100`: what
/// the limit is compared with. Where that is memory of devices, `(and 1 GB of
/// the host)` follows.
static std::string needs(const std::vector<DeviceMemory> &kinds) {
  return "a run needs " +
         join(map_range(kinds,
                        [&](const DeviceMemory &kind) {
                          int64_t own = kind.held.limited();
                          int64_t host = kind.held.host();
                          std::string more =
                              host == 0 ? ""
                                        : " (and " + formatBytes(double(host)) +
                                              " of the host)";
                          return formatBytes(double(own)) + " per " +
                                 nameOf(kind, kinds) + more;
                        }),
              " and ");
}

/// `; 12 kernels for GPUs: PTX for sm_90 on, cubins for sm_90, sm_100`.
static std::string kernelsOf(mlir::ModuleOp module) {
  std::map<std::string, int64_t> counts;
  for (auto code : module.getOps<exec::CodeOp>()) {
    if (rt::isGridTarget(code.getTarget().str())) {
      ++counts[rt::describeGridTarget(code.getTarget().str())];
    }
  }
  std::string text;
  for (const auto &[what, count] : counts) {
    text += "; " + countText(count, "kernel") + " for GPUs: " + what;
  }
  return text;
}

Status CompileVerb::writeArtifact() {
  if (Status status = refuseTerminal(output_, "an artifact"); !status.isOk()) {
    return status;
  }
  auto compilation = load(output_, std::nullopt, given());
  if (!compilation) {
    return compilation.status();
  }
  divisi::Expected<WrittenArtifact> written =
      divisi::writeArtifact(**compilation, output_);
  if (!written) {
    return written.status();
  }
  const EmitSummary &summary = written->summary;
  tellWritten(output_,
              countText((*compilation)->numDevices(), "device") + ", " +
                  formatBytes(double(summary.weightBytes)) + " of weights; " +
                  needs(written->memory) + kernelsOf((*compilation)->module()),
              summary.fileBytes);
  return Status();
}

Status PlanVerb::run() {
  std::string output = output_.empty() ? "-" : output_.getValue();
  auto compilation = load(output);
  if (!compilation) {
    return compilation.status();
  }
  Status status = (*compilation)->advanceTo(Stage::Plan);
  if (!status.isOk()) {
    return status;
  }
  divisi::Expected<int64_t> bytes = (*compilation)->writeModule(output);
  if (bytes) {
    std::string what =
        "plan for " + countText((*compilation)->numDevices(), "device");
    if (auto memory = (*compilation)->memoryAsRun(!planFlags_.noOverlap)) {
      what += "; " + needs(*memory);
    }
    tellWritten(output, what, *bytes);
  }
  return bytes.status();
}

std::unique_ptr<Verb> divisi::makeCompileVerb() {
  return std::make_unique<CompileVerb>();
}

std::unique_ptr<Verb> divisi::makePlanVerb() {
  return std::make_unique<PlanVerb>();
}
