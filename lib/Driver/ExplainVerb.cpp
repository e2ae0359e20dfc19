//===- ExplainVerb.cpp - divisi explain -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Flags.h"
#include "VerbInput.h"
#include "Verbs.h"
#include "divisi/Compiler/CompareDevices.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Report/Why.h"
#include "divisi/runtime/artifact/ArtifactFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;

namespace {

class ExplainVerb : public Verb {
public:
  ExplainVerb() : Verb("explain") {}
  Status run() override;

private:
  divisi::Expected<Report> ofArtifact();
  divisi::Expected<Report> ofModel();
  Status printAnswer(const Report &report);

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("MODEL.onnx|IR.mlir|ARTIFACT.divisi")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("as JSON")};
  cl::opt<bool> summary_{"summary", cl::sub(command), on(ActsOn::Answer),
                         cl::desc("omit the table by layer")};
  cl::opt<std::string> entry_{"entry", cl::sub(command), on(ActsOn::Answer),
                              cl::value_desc("NAME"),
                              cl::desc("show only this entry function")};
  cl::opt<bool> noCompare_{
      "no-compare", cl::sub(command), on(ActsOn::Answer),
      cl::desc("omit the comparison with plans on fewer devices")};
  cl::opt<std::string> why_{
      "why", cl::sub(command), on(ActsOn::Answer), cl::value_desc("NAME"),
      cl::desc("show the alternatives for an operator, a layer or a tensor, "
               "and their costs; NAME as in the table")};

  std::unique_ptr<Compilation> compilation_;
  std::unique_ptr<Compilation> planned_; ///< After the stage plan.
};

} // namespace

divisi::Expected<Report> ExplainVerb::ofArtifact() {
  VerbInput input(input_, VerbInput::Kind::Artifact);
  if (Status status = input.check(command, planFlags_.replan); !status.isOk()) {
    return status;
  }
  auto file = rt::ArtifactFile::open(input_);
  if (!file) {
    return file.status();
  }
  divisi::Expected<Report> report = reportFromText(file->manifest().report());
  if (!report && report.status().code() == ExitCode::Invalid) {
    return report.status().in("'" + input_ + "' carries no report of its plan");
  }
  return report;
}

/// What comes of the stage plan is kept, where --why finds the strategies.
divisi::Expected<Report> ExplainVerb::ofModel() {
  divisi::Expected<CompileOptions> options =
      gatherOptions(importFlags_, planFlags_);
  if (!options) {
    return options.status();
  }
  PlanOptions asked = options->plan;
  compilation_ = std::make_unique<Compilation>(std::move(*options));
  Status status = loadInput(*compilation_, input_, command, planFlags_);
  if (status.isOk() && compilation_->stage() < Stage::Plan) {
    status = compilation_->advanceTo(Stage::Plan);
  }
  if (status.isOk() && compilation_->stage() == Stage::Plan) {
    planned_ = compilation_->fork(asked);
  }
  if (status.isOk()) {
    status = compilation_->advanceTo(Stage::Lower);
  }
  if (!status.isOk()) {
    return status;
  }
  divisi::Expected<Report> report = compilation_->report();
  if (report && planned_ && !noCompare_ && why_.empty()) {
    status = addComparison(planned_->module(), asked, *report);
    if (!status.isOk()) {
      return status;
    }
  }
  return report;
}

Status ExplainVerb::printAnswer(const Report &report) {
  Cluster machine;
  if (planned_) {
    divisi::Expected<Cluster> cluster = planned_->cluster();
    if (!cluster) {
      return cluster.status();
    }
    machine = std::move(*cluster);
  }
  divisi::Expected<WhyAnswer> answer =
      answerWhy(report, why_, planned_ ? planned_->module() : nullptr, machine);
  if (!answer) {
    return answer.status();
  }
  if (json_) {
    jsonOut() << formatv("{0:2}\n", toJSON(*answer));
  } else {
    printWhy(*answer, textOut());
  }
  return Status();
}

// An artifact is known by its magic number, whatever it is called.
Status ExplainVerb::run() {
  divisi::Expected<Report> report =
      isArtifact(input_) ? ofArtifact() : ofModel();
  if (!report) {
    return report.status();
  }
  if (!entry_.empty()) {
    if (Status status = keepEntry(*report, entry_); !status.isOk()) {
      return status;
    }
  }
  if (!why_.empty()) {
    return printAnswer(*report);
  }
  if (json_) {
    jsonOut() << formatv("{0:2}\n", toJSON(*report));
    return Status();
  }
  printSummary(*report, textOut());
  if (!summary_) {
    textOut() << "\n";
    printLayers(*report, textOut());
  }
  return Status();
}

std::unique_ptr<Verb> divisi::makeExplainVerb() {
  return std::make_unique<ExplainVerb>();
}
