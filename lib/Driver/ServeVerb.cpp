//===- ServeVerb.cpp - divisi-compiler serve ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The process that libdivisi_compiler starts for a compilation. It takes the
// options of compile but those that name outputs, imports the model, and does
// what it is asked for. A module at the stage Plan is kept, and what comes of
// it: so the plan can be changed, and asked about again.
//
//===----------------------------------------------------------------------===//

#include "Flags.h"
#include "Outputs.h"
#include "Server.h"
#include "Verbs.h"
#include "WriteArtifact.h"
#include "divisi/Compiler/CompareDevices.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Report/PlanLayouts.h"
#include "divisi/Support/Clock.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/VisibleText.h"

#include "llvm/Support/FormatVariadic.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace divisi;

namespace {

class ServeVerb : public Verb {
public:
  ServeVerb()
      : Verb("serve", "answer the library that has started this process",
             "compile") {}
  Status run() override;
  int report(const Status &status) override;

private:
  Status load();
  void listen(CompileOptions &options);
  divisi::Expected<std::string> answer(const Frame &request);

  Status plan();
  divisi::Expected<Compilation *> reach(Stage stage);
  divisi::Expected<std::string> explain(bool isJson);
  divisi::Expected<std::string> dump(std::string_view stage);
  divisi::Expected<std::string> compile(const std::string &path);
  divisi::Expected<std::string> setSplit(std::string_view operators,
                                         std::string_view split);
  divisi::Expected<std::string> layouts(std::string_view operators);

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("MODEL.onnx|IR.mlir|-")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  WeightsFlag weights_{command};

  Server *server_ = nullptr;
  PlanOptions asked_;
  double loadSeconds_ = 0;
  /// As it was read, if that is before Stage::Plan.
  std::unique_ptr<Compilation> imported_;
  /// At Stage::Plan, or later where a later dump was read; null before.
  std::unique_ptr<Compilation> planned_;
  /// Made of it, and further; null if nobody has asked for that.
  std::unique_ptr<Compilation> further_;
};

} // namespace

/// What messages call a model that is given as bytes, at standard input.
static constexpr StringLiteral kBytesName = "model";

/// Where memory runs out, this process goes before its host.
static void offerToEnd() {
  constexpr StringLiteral score = "500";
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0) {
    (void)!write(file, score.data(), score.size());
    close(file);
  }
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void ServeVerb::listen(CompileOptions &options) {
  listenToMessages([this](StringRef message) { server_->tell(message); });
  options.progress = [this, told = options.progress](StringRef phase) {
    server_->beginPhase(phase, phase == stringifyStage(Stage::Plan),
                        [&] { told(phase); });
  };
  PlanControl &control = options.plan.control;
  control.onProgress = [this, told = control.onProgress](const auto &news) {
    told(news);
    server_->tellSearch(news);
  };
}

Status ServeVerb::load() {
  double start = steadySeconds();
  GivenOptions given;
  given.weights = weights_;
  divisi::Expected<CompileOptions> options =
      gatherOptions(importFlags_, planFlags_, given);
  if (!options) {
    return options.status();
  }
  listen(*options);
  asked_ = options->plan;
  auto compilation = std::make_unique<Compilation>(std::move(*options));
  Status status = loadInput(*compilation, input_, command, planFlags_, {},
                            kBytesName.str());
  if (status.isOk()) {
    bool isPlanned = compilation->stage() >= Stage::Plan;
    (isPlanned ? planned_ : imported_) = std::move(compilation);
  }
  loadSeconds_ = steadySeconds() - start;
  return status;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// A time limit is that of the search and of the import, whatever was between.
Status ServeVerb::plan() {
  if (planned_) {
    return Status();
  }
  std::unique_ptr<Compilation> next = imported_->copy();
  if (std::optional<double> limit = planFlags_.limits.given().seconds) {
    next->setDeadline(steadySeconds() - loadSeconds_ + *limit);
  }
  Status status = next->advanceTo(Stage::Plan);
  if (status.isOk()) {
    planned_ = std::move(next);
  }
  return status;
}

/// A compilation that is at `stage`, which is not before that of the input.
divisi::Expected<Compilation *> ServeVerb::reach(Stage stage) {
  if (stage == Stage::Import && imported_) {
    return imported_.get();
  }
  if (Status status = plan(); !status.isOk()) {
    return status;
  }
  if (stage < planned_->stage()) {
    return Status(ExitCode::Usage,
                  "the model is a dump that has been through the stage " +
                      stringifyStage(planned_->stage()).str() +
                      ", so there is none after " +
                      stringifyStage(stage).str());
  }
  if (stage == planned_->stage()) {
    return planned_.get();
  }
  if (!further_ || further_->stage() > stage) {
    further_ = planned_->copy();
  }
  if (Status status = further_->advanceTo(stage); !status.isOk()) {
    further_.reset();
    return status;
  }
  return further_.get();
}

divisi::Expected<std::string> ServeVerb::explain(bool isJson) {
  divisi::Expected<Compilation *> lowered = reach(Stage::Lower);
  if (!lowered) {
    return lowered.status();
  }
  divisi::Expected<Report> report = (*lowered)->report();
  if (!report) {
    return report.status();
  }
  if (planned_->stage() == Stage::Plan) {
    Status status = addComparison(planned_->module(), asked_, *report);
    if (!status.isOk()) {
      return status;
    }
  }
  std::string text;
  raw_string_ostream os(text);
  if (isJson) {
    os << formatv("{0:2}\n", toJSON(*report));
  } else {
    printSummary(*report, os);
    os << "\n";
    printLayers(*report, os);
  }
  std::string answer;
  appendVisible(answer, text, isJson ? Escape::Json : Escape::Bytes);
  return answer;
}

divisi::Expected<std::string> ServeVerb::dump(std::string_view name) {
  std::optional<Stage> stage = parseStage(name);
  if (!stage) {
    return makeError(ExitCode::Usage, "there is no stage '", name,
                     "'; expected import, train, rewrite, plan, "
                     "partition, schedule or lower");
  }
  divisi::Expected<Compilation *> reached = reach(*stage);
  if (!reached) {
    return reached.status();
  }
  return (*reached)->moduleText();
}

divisi::Expected<std::string> ServeVerb::compile(const std::string &path) {
  Status status = plan();
  OutputCheck files;
  files.addInput("the input", input_);
  files.addTensors("a file of --shapes-from", importFlags_.shapesFrom);
  files.addTensors("a file of --constant", importFlags_.constants);
  files.addTensors("a file of --constants-from", importFlags_.constantsFrom);
  if (status.isOk()) {
    for (const std::string &file : planned_->dataFiles()) {
      files.addInput("data of the model", file);
    }
    status = files.addOutput("the artifact", path);
  }
  if (!status.isOk()) {
    return status;
  }
  divisi::Expected<Compilation *> lowered = reach(Stage::Lower);
  if (!lowered) {
    return lowered.status();
  }
  auto written = writeArtifact(**lowered, path);
  if (!written) {
    return written.status();
  }
  return std::string();
}

/// In a copy: a strategy that cannot be leaves the plan as it was.
divisi::Expected<std::string> ServeVerb::setSplit(std::string_view operators,
                                                  std::string_view split) {
  if (Status status = plan(); !status.isOk()) {
    return status;
  }
  std::unique_ptr<Compilation> edited = planned_->copy();
  divisi::Expected<int64_t> nanoseconds = edited->setSplit(operators, split);
  if (!nanoseconds) {
    return nanoseconds.status();
  }
  planned_ = std::move(edited);
  further_.reset();
  return std::to_string(*nanoseconds);
}

divisi::Expected<std::string> ServeVerb::layouts(std::string_view operators) {
  divisi::Expected<Compilation *> planned = reach(Stage::Plan);
  if (!planned) {
    return planned.status();
  }
  divisi::Expected<json::Value> found =
      planLayouts((*planned)->module(), operators);
  if (!found) {
    return found.status();
  }
  std::string answer;
  appendVisible(answer, formatv("{0:2}\n", *found).str(), Escape::Json);
  return answer;
}

divisi::Expected<std::string> ServeVerb::answer(const Frame &request) {
  std::string_view what = request[1];
  if (what == "plan") {
    server_->setFinding(true);
    Status status = plan();
    return status.isOk() ? divisi::Expected<std::string>(std::string())
                         : status;
  }
  if (what == "explain") {
    return explain(request[2] == "json");
  }
  if (what == "dump") {
    return dump(request[2]);
  }
  if (what == "compile") {
    return compile(std::string(request[2]));
  }
  if (what == "set_split") {
    return setSplit(request[2], request[3]);
  }
  if (what == "layouts") {
    return layouts(request[2]);
  }
  return makeError(ExitCode::Internal, "there is no request '", what, "'");
}

Status ServeVerb::run() {
  auto server = Server::start();
  if (!server) {
    return server.status();
  }
  server_ = *server;
  offerToEnd();
  if (Status status = load(); !status.isOk()) {
    return status;
  }
  server_->answer(std::string());
  while (true) {
    server_->answer(answer(server_->next()));
  }
}

/// Where the host hears it.
int ServeVerb::report(const Status &status) {
  if (!server_) {
    auto server = Server::start();
    if (!server) {
      return reportStatus(status.isOk() ? server.status() : status);
    }
    server_ = *server;
  }
  server_->answer(status);
  _exit(int(status.code()));
}

std::unique_ptr<Verb> divisi::makeServeVerb() {
  return std::make_unique<ServeVerb>();
}
