//===- CheckVerb.cpp - divisi check ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three questions: does an artifact give the expected outputs; does a model on
// N devices give what it gives on one; and does a rewritten program give what
// it gave before?
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "CheckReport.h"
#include "Console.h"
#include "ErrorAgainst.h"
#include "ExpectedOutputs.h"
#include "Flags.h"
#include "ModelRuns.h"
#include "Sessions.h"
#include "TensorArguments.h"
#include "ToleranceFlags.h"
#include "VerbInput.h"
#include "Verbs.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Rules/Rule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;
using namespace divisi;

namespace {

class CheckVerb : public Verb {
public:
  CheckVerb() : Verb("check") {}
  Status run() override;

private:
  Status checkArtifact();
  Status readExpected();
  Status readTensors();
  Status compareOnFirst(const std::vector<rt::HostTensor> &got,
                        const std::string &name);
  Status checkModel();
  Status checkPlans(Compilation &model);
  divisi::Expected<LoadedEntry> loadOne(Compilation &model,
                                        const std::string &name) const {
    return loadSingle(model, name, plan_, sessionFlags_);
  }
  Status checkRewritten(Compilation &model);
  Status checkRandomPlans() const;
  Status readGiven(ImportOptions &options);
  Status readOptions();
  Status readExact();
  Status gatherInputs();
  Status expectOf(const LoadedEntry &loaded);
  Status checkPlan(Compilation &model, const PlanOptions &plan,
                   const std::string &name);
  Status compare(const std::vector<rt::HostTensor> &got, CheckedRun run,
                 bool isExact = false);

  cl::opt<std::string> input_{cl::Positional, cl::sub(command), cl::Required,
                              cl::desc("ARTIFACT.divisi|MODEL.onnx|IR.mlir")};
  cl::list<std::string> inputsFrom_{
      "inputs", cl::sub(command), on(ActsOn::Run),
      cl::value_desc(kTensorArgument),
      cl::desc("the inputs, given as for run (default for a model: random "
               "ones)")};
  cl::list<std::string> expect_{
      "expect", cl::sub(command), on(ActsOn::Run),
      cl::value_desc(kTensorArgument),
      cl::desc("the expected outputs, given as inputs are (default for a "
               "model: those of one device)")};
  cl::opt<std::string> beforeFrom_{
      "before", cl::sub(command), on(ActsOn::Run),
      cl::value_desc("MODEL.onnx|IR.mlir"),
      cl::desc("compare with this program on one device, first on one device, "
               "then on all (default where rules have rewritten a model: as "
               "imported)")};
  cl::opt<std::string> againstFrom_{
      "against", cl::sub(command), on(ActsOn::Run), cl::value_desc("MODEL"),
      cl::desc("the float model that a quantized one was made from: outputs "
               "may be as far from its outputs as what is expected is, and a "
               "quarter and 0.005 of the norm more")};
  cl::opt<int64_t> randomPlans_{
      "random-plans",
      cl::sub(command),
      on(ActsOn::Plan),
      cl::value_desc("N"),
      cl::init(0),
      cl::desc("check N random plans instead of the planner's")};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("as JSON")};
  ToleranceFlags toleranceFlags_{command};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  SessionFlags sessionFlags_{command};

  Tolerance tolerance_;
  json::Array runs_; ///< With --json.
  std::vector<rt::GivenTensor> given_;
  rt::EntryInfo entry_;
  CompileOptions options_; ///< Of a model, or of the float model.
  PlanOptions plan_;       ///< The same, with what the model's file says.
  std::vector<rt::HostTensor> inputs_;
  ExpectedOutputs expected_;
  /// With --against: what the float model gives for each expected one.
  std::vector<rt::HostTensor> exact_;
};

} // namespace

/// Every comparison is shown, whatever comes out; JSON is one value for all.
Status CheckVerb::compare(const std::vector<rt::HostTensor> &got,
                          CheckedRun run, bool isExact) {
  Tolerance tolerance = tolerance_;
  tolerance.computedIn = entry_.computedIn;
  tolerance.isQuantized = entry_.isQuantized;
  tolerance.isExact = isExact;
  auto chosen = expected_.choose(got);
  if (!chosen) {
    return chosen.status();
  }
  for (auto [i, value] : enumerate(expected_.outputs())) {
    const rt::HostTensor &a = (*chosen)[i], &b = expected_.tensors()[i];
    CheckedOutput output{value, compareTensors(a, b, tolerance)};
    if (!exact_.empty() && a.type() == b.type() && a.dims() == b.dims()) {
      output.against = compareErrors(a, b, exact_[i], againstFrom_);
    }
    run.outputs.push_back(std::move(output));
  }
  if (json_) {
    runs_.push_back(toJSON(run));
  } else {
    printRun(run, textOut());
  }
  return toStatus(run);
}

Status CheckVerb::readExpected() {
  auto wanted = ExpectedOutputs::read(expect_, entry_);
  if (wanted) {
    expected_ = std::move(*wanted);
  }
  return wanted.status();
}

/// Inputs and expected outputs of an artifact.
Status CheckVerb::readTensors() {
  if (expect_.empty()) {
    return Status(ExitCode::Usage, "check of an artifact needs --expect FILE");
  }
  auto read = readInputs(inputsFrom_, entry_);
  if (!read) {
    return read.status();
  }
  inputs_ = std::move(*read);
  return readExpected();
}

/// The artifact says what it takes, so it is loaded before the files.
Status CheckVerb::checkArtifact() {
  VerbInput input(input_, VerbInput::Kind::Artifact);
  if (Status status = input.check(command, planFlags_.replan); !status.isOk()) {
    return status;
  }
  auto loaded = sessionFlags_.open(input_);
  if (!loaded) {
    return loaded.status();
  }
  entry_ = *loaded->entry;
  Status status = sessionFlags_.agree(readTensors());
  if (status.isOk() && !againstFrom_.empty()) {
    status = readOptions();
    status = status.isOk() ? readExact() : status;
  }
  if (!status.isOk()) {
    return status;
  }
  auto got = loaded->runWhole(inputs_);
  return got ? compareOnFirst(*got, input_) : got.status();
}

/// The first process compares what it has got; the others learn what came out.
Status CheckVerb::compareOnFirst(const std::vector<rt::HostTensor> &got,
                                 const std::string &name) {
  return sessionFlags_.agree(
      sessionFlags_.isFirst() ? compare(got, CheckedRun{name, {}}) : Status());
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// Reads --inputs, which also say the shapes where nothing else does.
Status CheckVerb::readGiven(ImportOptions &options) {
  auto tensors = readTensorArguments(inputsFrom_, "input");
  if (!tensors) {
    return tensors.status();
  }
  given_ = std::move(*tensors);
  if (options.tensors.empty()) {
    options.tensors = labelledShapes(given_);
    options.misfit = ExitCode::Invalid;
  }
  return Status();
}

/// Those of --inputs, or random ones that depend on --seed alone.
Status CheckVerb::gatherInputs() {
  if (!inputsFrom_.empty()) {
    auto arranged = rt::arrangeInputs(entry_, std::move(given_));
    if (arranged) {
      inputs_ = std::move(*arranged);
    }
    return arranged.status();
  }
  auto drawn = drawInputs(entry_, planFlags_.seed);
  if (drawn) {
    inputs_ = std::move(*drawn);
  }
  return drawn.status();
}

/// What the entry takes, and what is expected unless a file says so.
Status CheckVerb::expectOf(const LoadedEntry &loaded) {
  entry_ = *loaded.entry;
  if (Status status = gatherInputs(); !status.isOk()) {
    return status;
  }
  if (!expect_.empty()) {
    Status status = readExpected();
    return status.isOk() ? readExact() : status;
  }
  auto given = runWithStates(loaded, inputs_, /*again=*/true);
  if (!given) {
    return given.status();
  }
  expected_ = ExpectedOutputs(entry_, std::move(*given));
  return readExact();
}

/// With --against, what the float model gives on one device.
Status CheckVerb::readExact() {
  if (againstFrom_.empty()) {
    return Status();
  }
  CompileOptions options = options_;
  options.precision = {};
  auto model = loadOriginal(againstFrom_, "--against", options, entry_);
  auto loaded = model ? loadOne(**model, againstFrom_)
                      : divisi::Expected<LoadedEntry>(model.status());
  auto exact =
      loaded ? runFloatModel(*loaded, entry_, inputs_, expected_.outputs())
             : divisi::Expected<std::vector<rt::HostTensor>>(loaded.status());
  if (exact) {
    exact_ = std::move(*exact);
  }
  return exact.status();
}

//===----------------------------------------------------------------------===//
// Rewritten programs
//===----------------------------------------------------------------------===//

/// Whether the same rules have been applied to both. What notes of rules are
/// broken is told by who compares them.
static bool haveEqualRules(Compilation &a, Compilation &b) {
  auto rules = rewrite::getRuleRecords(a.module());
  auto others = rewrite::getRuleRecords(b.module());
  return rules && others && *rules == *others;
}

/// Compares on one device with the program before, which all plans are to be
/// compared with. What rules say keeps bits, has to by the reference kernels;
/// others compute a function otherwise where it is fused. Where no rule was
/// applied, there are no two programs, unless somebody has asked for them.
Status CheckVerb::checkRewritten(Compilation &model) {
  bool isAsked =
      !beforeFrom_.empty() || planFlags_.rewrite.getNumOccurrences() > 0;
  std::unique_ptr<Compilation> before = model.copy();
  before->setRewriteMode(RewriteMode::Off);
  if (Status status = model.advanceTo(std::max(model.stage(), Stage::Rewrite));
      !status.isOk()) {
    return status;
  }
  model.setRewriteMode(RewriteMode::Off);
  if (!isAsked && haveEqualRules(*before, model)) {
    auto loaded = loadOne(model, input_);
    return loaded ? expectOf(*loaded) : loaded.status();
  }
  auto after = loadOne(model, input_);
  if (!after) {
    return after.status();
  }
  if (!beforeFrom_.empty()) {
    auto read = loadOriginal(beforeFrom_, "--before", options_, *after->entry);
    if (!read) {
      return read.status();
    }
    before = std::move(*read);
  }
  auto loaded = loadOne(*before, beforeFrom_.empty() ? input_ : beforeFrom_);
  Status status = loaded ? expectOf(*loaded) : loaded.status();
  auto old = rewrite::getRuleRecords(before->module());
  auto now = rewrite::getRuleRecords(model.module());
  status = !status.isOk() ? status : !old ? old.status() : now.status();
  if (status.isOk()) {
    status = checkAlike(entry_, *after->entry);
  }
  auto got = status.isOk()
                 ? runWithStates(*after, inputs_, expect_.empty())
                 : divisi::Expected<std::vector<rt::HostTensor>>(status);
  if (!got) {
    return got.status();
  }
  CheckedRun run{"the rewritten program on one device", {}};
  run.rules = rewrite::appliedSince(*old, std::move(*now));
  bool isExact = !run.rules->empty() && expect_.empty() &&
                 sessionFlags_.backends == "reference" &&
                 !toleranceFlags_.isGiven() &&
                 all_of(*run.rules, [](const rewrite::RuleRecord &rule) {
                   return rule.numericClass ==
                          rewrite::spell(rewrite::NumericClass::BitExact);
                 });
  return sessionFlags_.agree(sessionFlags_.isFirst()
                                 ? compare(*got, std::move(run), isExact)
                                 : Status());
}

Status CheckVerb::checkPlan(Compilation &model, const PlanOptions &plan,
                            const std::string &name) {
  auto loaded = loadPlanned(model, plan, sessionFlags_);
  if (!loaded) {
    return Status(loaded.status().code(),
                  name + ": " + loaded.status().message());
  }
  auto got = runWithStates(*loaded, inputs_, expect_.empty());
  return got ? compareOnFirst(*got, name)
             : Status(got.status().code(),
                      name + ": " + got.status().message());
}

/// What --random-plans cannot be given with.
Status CheckVerb::checkRandomPlans() const {
  if (randomPlans_.getNumOccurrences() && randomPlans_ < 1) {
    return Status(ExitCode::Usage, "--random-plans " +
                                       std::to_string(randomPlans_) +
                                       ": expected at least 1");
  }
  if (randomPlans_ > 0 && planFlags_.solver.getNumOccurrences()) {
    return Status(
        ExitCode::Usage,
        "--random-plans and --solver exclude each other; give one of them");
  }
  return Status();
}

/// The first that differs ends the check.
Status CheckVerb::checkPlans(Compilation &model) {
  PlanOptions plan = plan_;
  if (randomPlans_ == 0) {
    return checkPlan(model, plan, "the plan found");
  }
  plan.solver = "random";
  Status status;
  for (int64_t i = 0; i < randomPlans_ && status.isOk(); ++i) {
    plan.seed = planFlags_.seed + i;
    status = checkPlan(model, plan,
                       "random plan of seed " + std::to_string(plan.seed));
  }
  return status;
}

/// What the flags say of the program, which runs here, whatever the cluster
/// has.
Status CheckVerb::readOptions() {
  auto options = gatherOptions(importFlags_, planFlags_);
  if (options) {
    options->deviceOf = nullptr;
    options_ = std::move(*options);
    plan_ = options_.plan;
  }
  return options.status();
}

/// One import for all plans.
Status CheckVerb::checkModel() {
  Status status = readOptions();
  if (status.isOk()) {
    status = readGiven(options_.import);
  }
  Compilation model(options_);
  if (status.isOk()) {
    // Random inputs have the same seed.
    status = loadInput(model, input_, command, planFlags_, &planFlags_.seed);
  }
  if (status.isOk()) {
    status = checkRandomPlans();
  }
  if (!status.isOk()) {
    return status;
  }
  plan_ = model.planOptions();
  bool isToBeRewritten =
      model.stage() < Stage::Rewrite && model.rewriteMode() != RewriteMode::Off;
  if (isToBeRewritten || !beforeFrom_.empty()) {
    status = checkRewritten(model);
  } else {
    auto loaded = loadOne(model, input_);
    status = loaded ? expectOf(*loaded) : loaded.status();
  }
  return status.isOk() ? checkPlans(model) : status;
}

Status CheckVerb::run() {
  bool named = StringRef(input_).ends_with(".divisi");
  auto tolerance = toleranceFlags_.read();
  if (!tolerance) {
    return tolerance.status();
  }
  tolerance_ = *tolerance;
  auto isDone = sessionFlags_.launch(*this, input_);
  if (!isDone || *isDone) {
    return isDone.status();
  }
  Status status = isArtifact(input_) || named ? checkArtifact() : checkModel();
  if (!runs_.empty()) {
    jsonOut() << formatv("{0:2}\n",
                         json::Value(json::Object{{"schema_version", 1},
                                                  {"runs", std::move(runs_)}}));
  }
  return status;
}

std::unique_ptr<Verb> divisi::makeCheckVerb() {
  return std::make_unique<CheckVerb>();
}
