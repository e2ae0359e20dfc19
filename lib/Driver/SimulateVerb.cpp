//===- SimulateVerb.cpp - divisi simulate ---------------------------------===//
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
#include "SimulationReport.h"
#include "Verbs.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Support/InputText.h"
#include "divisi/Support/OutputFile.h"

using namespace llvm;
using namespace divisi;

namespace {

class SimulateVerb : public Verb {
public:
  SimulateVerb() : Verb("simulate") {}
  Status run() override;

private:
  Status checkFiles() const;
  Status keepEntry(std::vector<SimulatedEntry> &entries) const;
  divisi::Expected<json::Array> readMeasured() const;
  Status writeTrace(const std::vector<SimulatedEntry> &entries) const;

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("MODEL.onnx|IR.mlir")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  OutputFlag output_{command, "TRACE.json",
                     cl::desc("write the events there, for ui.perfetto.dev")};
  cl::opt<std::string> measured_{
      "measured", cl::sub(command), on(ActsOn::Answer),
      cl::value_desc("TRACE.json"),
      cl::desc("with -o: put the events of `divisi run --trace` beside the "
               "predicted ones")};
  cl::opt<std::string> entry_{"entry", cl::sub(command), on(ActsOn::Answer),
                              cl::value_desc("NAME"),
                              cl::desc("only this entry function")};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("as JSON")};
};

} // namespace

Status SimulateVerb::checkFiles() const {
  if (output_.empty()) {
    return measured_.empty()
               ? Status()
               : Status(ExitCode::Usage, "--measured is for the trace: name "
                                         "that by -o");
  }
  if (isStdout(output_) && json_) {
    return Status(ExitCode::Usage,
                  "-o - and --json both write to stdout; name a file for one");
  }
  OutputCheck files;
  files.addInput("the model", input_);
  files.addInput("the measured trace", measured_);
  return files.addOutput("-o", output_);
}

Status SimulateVerb::keepEntry(std::vector<SimulatedEntry> &entries) const {
  if (entry_.empty()) {
    return Status();
  }
  std::vector<std::string> names;
  for (const SimulatedEntry &entry : entries) {
    names.push_back(entry.entry);
  }
  erase_if(entries,
           [&](const SimulatedEntry &entry) { return entry.entry != entry_; });
  return entries.empty()
             ? Status(ExitCode::Usage, "no entry '" + entry_ + "'; there are " +
                                           join(names, ", "))
             : Status();
}

divisi::Expected<json::Array> SimulateVerb::readMeasured() const {
  if (measured_.empty()) {
    return json::Array();
  }
  divisi::Expected<InputText> text = InputText::readFile(measured_);
  if (!text) {
    return text.status();
  }
  llvm::Expected<json::Value> value = json::parse(text->text());
  json::Object *object = value ? value->getAsObject() : nullptr;
  json::Array *events = object ? object->getArray("traceEvents") : nullptr;
  if (!value) {
    consumeError(value.takeError());
  }
  return events ? divisi::Expected<json::Array>(std::move(*events))
                : Status(ExitCode::Invalid,
                         "'" + measured_ +
                             "' is no trace: expected a JSON "
                             "object with traceEvents, as `divisi run --trace` "
                             "writes it");
}

Status
SimulateVerb::writeTrace(const std::vector<SimulatedEntry> &entries) const {
  if (entries.size() > 1) {
    return Status(ExitCode::Usage,
                  "-o writes the events of one entry, and there are " +
                      std::to_string(entries.size()) + ": name one by --entry");
  }
  divisi::Expected<json::Array> measured = readMeasured();
  if (!measured) {
    return measured.status();
  }
  divisi::Expected<OutputFile> file = OutputFile::create(output_);
  Status status = file ? divisi::writeTrace(entries.front(), *measured, *file)
                       : file.status();
  return status.isOk() ? file->commit() : status;
}

Status SimulateVerb::run() {
  if (Status status = checkFiles(); !status.isOk()) {
    return status;
  }
  divisi::Expected<CompileOptions> options =
      gatherOptions(importFlags_, planFlags_);
  if (!options) {
    return options.status();
  }
  Compilation compilation(std::move(*options));
  Status status = loadInput(compilation, input_, command, planFlags_);
  if (status.isOk()) {
    status = compilation.advanceTo(Stage::Schedule);
  }
  if (!status.isOk()) {
    return status;
  }
  divisi::Expected<std::vector<SimulatedEntry>> entries =
      compilation.simulate();
  if (!entries) {
    return entries.status();
  }
  status = keepEntry(*entries);
  if (status.isOk() && !output_.empty()) {
    status = writeTrace(*entries);
  }
  if (!status.isOk()) {
    return status;
  }
  if (json_) {
    jsonOut() << formatv("{0:2}\n", toJSON(*entries));
    return Status();
  }
  if (isStdout(output_)) { // which has the trace
    return Status();
  }
  for (const SimulatedEntry &entry : *entries) {
    printSimulation(entry, textOut());
  }
  return Status();
}

std::unique_ptr<Verb> divisi::makeSimulateVerb() {
  return std::make_unique<SimulateVerb>();
}
