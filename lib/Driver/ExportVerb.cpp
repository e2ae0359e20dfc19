//===- ExportVerb.cpp - divisi export -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Flags.h"
#include "OutputFlag.h"
#include "Outputs.h"
#include "Verbs.h"
#include "divisi/Exchange/AnnotatePlan.h"
#include "divisi/Exchange/DTensorPlan.h"
#include "divisi/Support/OutputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace divisi;

namespace {

class ExportVerb : public Verb {
public:
  ExportVerb() : Verb("export") {}
  Status run() override;

private:
  Status check() const;
  Status plan();
  divisi::Expected<ModelOutline> outline();
  Status writeDTensor();
  Status writeOnnx();
  void sayLeftOut(ArrayRef<std::string> nodes) const;

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("PLAN.mlir|MODEL.onnx")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  cl::opt<std::string> to_{
      "to", cl::sub(command), on(ActsOn::Answer),
      cl::value_desc("dtensor|onnx"),
      cl::desc("dtensor: placements by parameter and module, as JSON; onnx: "
               "the model with multi-device annotations")};
  cl::opt<std::string> model_{
      "model", cl::sub(command), on(ActsOn::Answer), cl::value_desc("M.onnx"),
      cl::desc("the model that the plan is of (default: where the plan says)")};
  cl::opt<std::string> configuration_{
      "configuration",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("NAME"),
      cl::init("divisi"),
      cl::desc("with --to onnx: what the annotations' device configuration is "
               "called (default: divisi)")};
  OutputFlag output_{command, "OUT.json|OUT.onnx",
                     cl::desc("the output file; JSON goes to stdout without")};
  std::unique_ptr<Compilation> compilation_;
  std::string modelFile_;
};

} // namespace

Status ExportVerb::check() const {
  if (to_ != "dtensor" && to_ != "onnx") {
    return to_.empty() ? makeError(ExitCode::Usage,
                                   "export needs --to dtensor or --to onnx")
                       : makeError(ExitCode::Usage, "--to '", to_.getValue(),
                                   "': expected dtensor or onnx");
  }
  if (to_ == "onnx" && (output_.empty() || output_ == "-")) {
    return makeError(ExitCode::Usage,
                     "export --to onnx needs -o OUT.onnx, a file");
  }
  if (configuration_.empty() ||
      (to_ == "dtensor" && configuration_.getNumOccurrences())) {
    return makeError(ExitCode::Usage, "--configuration needs --to onnx, and a "
                                      "name that is not empty");
  }
  OutputCheck files;
  files.addInput("the input", input_);
  files.addInput("the model", model_);
  return output_.empty() || output_ == "-" ? Status()
                                           : files.addOutput("-o", output_);
}

Status ExportVerb::plan() {
  // What runs a plan of placements runs the model's own operators.
  if (to_ == "dtensor" && !planFlags_.rewrite.getNumOccurrences()) {
    planFlags_.rewrite = "off";
  }
  divisi::Expected<CompileOptions> options =
      gatherOptions(importFlags_, planFlags_);
  if (!options) {
    return options.status();
  }
  compilation_ = std::make_unique<Compilation>(std::move(*options));
  Status status = loadInput(*compilation_, input_, command, planFlags_);
  if (status.isOk() && compilation_->stage() > Stage::Plan) {
    status = makeError(ExitCode::Usage, "'", input_.getValue(),
                       "' has been through the stage ",
                       stringifyStage(compilation_->stage()).str(),
                       ": a plan is exported, before it is partitioned");
  }
  return status.isOk() ? compilation_->advanceTo(Stage::Plan) : status;
}

divisi::Expected<ModelOutline> ExportVerb::outline() {
  modelFile_ = model_.empty() ? compilation_->modelFile() : model_.getValue();
  if (modelFile_.empty()) {
    return makeError(ExitCode::Usage, "the ONNX model that '",
                     input_.getValue(),
                     "' is a plan of is not found: name it by --model M.onnx");
  }
  return readOutline(modelFile_, inputShapes(compilation_->module()));
}

Status ExportVerb::writeDTensor() {
  divisi::Expected<ModelOutline> model = outline();
  divisi::Expected<Cluster> machine = compilation_->cluster();
  if (!model || !machine) {
    return model ? machine.status() : model.status();
  }
  divisi::Expected<json::Value> plan =
      dtensorPlan(compilation_->module(), *machine, *model);
  if (!plan) {
    return plan.status();
  }
  for (const json::Value &line : *plan->getAsObject()->getArray("report")) {
    sayNote() << *line.getAsString();
  }
  if (output_.empty() || output_ == "-") {
    jsonOut() << formatv("{0:2}\n", *plan);
    return {};
  }
  Status status = writeFile(output_, formatv("{0:2}\n", *plan).str());
  if (status.isOk()) {
    size_t count = plan->getAsObject()->getObject("parameters")->size();
    tellWritten(output_,
                "placements of " + countText(int64_t(count), "parameter"));
  }
  return status;
}

void ExportVerb::sayLeftOut(ArrayRef<std::string> nodes) const {
  constexpr size_t kMost = 5;
  if (nodes.empty()) {
    return;
  }
  sayNote() << countText(int64_t(nodes.size()), "node")
            << " not annotated, for no operator of the plan has the name: '"
            << join(nodes.take_front(kMost), "', '") << "'"
            << (nodes.size() > kMost ? ", …" : "");
}

Status ExportVerb::writeOnnx() {
  divisi::Expected<ModelOutline> model = outline();
  if (!model) {
    return model.status();
  }
  divisi::Expected<ModelPlan> plan = modelPlan(compilation_->module(), *model);
  if (!plan) {
    return plan.status();
  }
  divisi::Expected<DeviceAnnotations> annotations =
      annotationsOf(*plan, configuration_);
  Status status = annotations
                      ? writeAnnotations(modelFile_, *annotations, output_)
                      : annotations.status();
  if (!status.isOk()) {
    return status;
  }
  sayLeftOut(plan->withoutOperator);
  tellWritten(output_,
              countText(int64_t(annotations->nodes.size()), "node") +
                  " annotated for " +
                  countText(annotations->configuration.numDevices, "device"));
  return {};
}

Status ExportVerb::run() {
  Status status = check();
  status = status.isOk() ? plan() : status;
  if (!status.isOk()) {
    return status;
  }
  return to_ == "onnx" ? writeOnnx() : writeDTensor();
}

std::unique_ptr<Verb> divisi::makeExportVerb() {
  return std::make_unique<ExportVerb>();
}
