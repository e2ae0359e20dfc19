//===- ExplainVerb.cpp - divisi explain -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Flags.h"
#include "VerbInput.h"
#include "Verbs.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/runtime/ArtifactFile.h"

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

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("MODEL.onnx|IR.mlir|ARTIFACT.divisi")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("as JSON")};
  cl::opt<bool> summary_{"summary", cl::sub(command), on(ActsOn::Answer),
                         cl::desc("without the table by layer")};
  cl::opt<std::string> why_{"why", cl::sub(command), on(ActsOn::Answer),
                            cl::value_desc("NODE"),
                            cl::desc("only what is known of a node")};
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

divisi::Expected<Report> ExplainVerb::ofModel() {
  CompileOptions options;
  Status status = gatherOptions(importFlags_, planFlags_, options);
  Compilation compilation(std::move(options));
  if (status.isOk()) {
    status = loadInput(compilation, input_, command, planFlags_);
  }
  if (status.isOk()) {
    status = compilation.advanceTo(Stage::Lower);
  }
  return status.isOk() ? compilation.report()
                       : divisi::Expected<Report>(status);
}

// An artifact is known by its magic number, whatever it is called.
Status ExplainVerb::run() {
  divisi::Expected<Report> report =
      isArtifact(input_) ? ofArtifact() : ofModel();
  if (!report) {
    return report.status();
  }
  if (json_) {
    outs() << formatv("{0:2}\n", toJSON(*report));
    return Status();
  }
  if (!why_.empty()) {
    return printNode(*report, why_, outs());
  }
  printSummary(*report, outs());
  if (!summary_) {
    outs() << "\n";
    printLayers(*report, outs());
  }
  return Status();
}

std::unique_ptr<Verb> divisi::makeExplainVerb() {
  return std::make_unique<ExplainVerb>();
}
