//===- CompileVerb.cpp - divisi compile and divisi plan -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "Verbs.h"
#include "dialects/Exec/Exec.h"
#include "divisi/Compiler/Compilation.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;

// Phases are shown on a terminal only: logs have no use for them.
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
  options.import = *import;
  options.plan = *plan;
  if (sys::Process::StandardErrIsDisplayed()) {
    options.progress = [](StringRef phase) { errs() << phase << "\n"; };
  }
  return Status();
}

namespace {

/// What compile and plan have in common.
class ModelVerb : public Verb {
protected:
  using Verb::Verb;

  /// Loads the input and brings it to `stage`.
  divisi::Expected<std::unique_ptr<Compilation>>
  compileTo(Stage stage, EmitOptions emit = {});

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("MODEL.onnx|IR.mlir")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  DumpFlags dumpFlags_{command};
  cl::opt<std::string> output_{"o", cl::sub(command), cl::value_desc("OUT"),
                               cl::desc("where the result is written")};
};

class CompileVerb : public ModelVerb {
public:
  CompileVerb() : ModelVerb("compile") {}
  Status run() override;

private:
  cl::opt<std::string> weights_{
      "weights", cl::sub(command), cl::value_desc("embed|external"),
      cl::init("embed"),
      cl::desc("store the weights in the artifact, or leave them in the "
               "model's files")};
};

class PlanVerb : public ModelVerb {
public:
  PlanVerb() : ModelVerb("plan") {}
  Status run() override;
};

} // namespace

divisi::Expected<std::unique_ptr<Compilation>>
ModelVerb::compileTo(Stage stage, EmitOptions emit) {
  CompileOptions options;
  Status status = gatherOptions(importFlags_, planFlags_, options);
  if (status.isOk()) {
    status = dumpFlags_.apply(options, output_);
  }
  options.emit = std::move(emit);
  auto compilation = std::make_unique<Compilation>(std::move(options));
  if (status.isOk()) {
    status = compilation->load(input_);
  }
  if (status.isOk()) {
    status = compilation->advanceTo(stage);
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
  if (weights_ != "embed" && weights_ != "external") {
    return Status(ExitCode::Usage,
                  "--weights '" + weights_ + "': expected embed or external");
  }
  EmitOptions emit;
  emit.externalWeights = weights_ == "external";
  auto compilation = compileTo(Stage::Lower, emit);
  if (!compilation) {
    return compilation.status();
  }
  divisi::Expected<EmitSummary> summary = (*compilation)->emit(output_);
  if (!summary) {
    return summary.status();
  }
  int64_t arena = 0;
  for (auto program : (*compilation)->module().getOps<exec::ProgramOp>()) {
    arena = std::max<int64_t>(arena, program.getArenaBytes());
  }
  errs() << "wrote " << output_ << ": " << summary->fileBytes << " bytes, "
         << summary->weightBytes << " of weights; a run needs " << arena
         << " bytes per device beside them\n";
  return Status();
}

Status PlanVerb::run() {
  auto compilation = compileTo(Stage::Plan);
  return compilation
             ? (*compilation)
                   ->writeModule(output_.empty() ? "-" : output_.getValue())
             : compilation.status();
}

std::unique_ptr<Verb> divisi::makeCompileVerb() {
  return std::make_unique<CompileVerb>();
}

std::unique_ptr<Verb> divisi::makePlanVerb() {
  return std::make_unique<PlanVerb>();
}
