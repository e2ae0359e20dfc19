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
#include "Flags.h"
#include "ModelRuns.h"
#include "Sessions.h"
#include "TensorArguments.h"
#include "VerbInput.h"
#include "Verbs.h"
#include "divisi/Compiler/Compilation.h"
#include "divisi/Rules/Rule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace divisi;

namespace {

class CheckVerb : public Verb {
public:
  CheckVerb() : Verb("check") {}
  Status run() override;

private:
  Status readTolerance();
  Status checkArtifact();
  Status readTensors();
  Status compareOnFirst(const std::vector<rt::HostTensor> &got,
                        const std::string &name);
  Status checkModel();
  Status checkPlans(Compilation &model, PlanOptions plan);
  divisi::Expected<LoadedEntry> loadSingle(Compilation &model,
                                           const std::string &name,
                                           const PlanOptions &plan) const;
  Status checkRewritten(Compilation &model, CompileOptions options,
                        const PlanOptions &plan);
  Status checkRandomPlans() const;
  Status readGiven(ImportOptions &options);
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
  cl::opt<int64_t> randomPlans_{
      "random-plans",
      cl::sub(command),
      on(ActsOn::Plan),
      cl::value_desc("N"),
      cl::init(0),
      cl::desc("check N random plans instead of the planner's")};
  cl::opt<double> rtol_{
      "rtol",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("R"),
      cl::init(1e-3),
      cl::desc("floats may differ by A + R*|expected| "
               "(default: 0.001; more for f16 and bf16, less for f64)")};
  cl::opt<double> atol_{
      "atol",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("A"),
      cl::init(0),
      cl::desc("the A of --rtol (default: 0.0001 of the largest expected "
               "element of the output)")};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("as JSON")};
  ImportFlags importFlags_{command};
  PlanFlags planFlags_{command};
  SessionFlags sessionFlags_{command};

  Tolerance tolerance_;
  json::Array runs_; ///< With --json.
  std::vector<rt::GivenTensor> given_;
  rt::EntryInfo entry_;
  std::vector<rt::HostTensor> inputs_, expected_;
};

} // namespace

Status CheckVerb::readTolerance() {
  const std::pair<const char *, double> given[] = {{"--rtol ", rtol_},
                                                   {"--atol ", atol_}};
  for (const auto &[flag, value] : given) {
    if (!(value >= 0) || std::isinf(value)) {
      return makeError(ExitCode::Usage, flag, value,
                       ": expected a number that is at least 0");
    }
  }
  if (rtol_.getNumOccurrences()) {
    tolerance_.relative = rtol_;
  }
  if (atol_.getNumOccurrences()) {
    tolerance_.absolute = atol_;
  }
  return Status();
}

/// Every comparison is shown, whatever comes out; JSON is one value for all.
Status CheckVerb::compare(const std::vector<rt::HostTensor> &got,
                          CheckedRun run, bool isExact) {
  Tolerance tolerance = tolerance_;
  tolerance.computedIn = entry_.computedIn;
  tolerance.isQuantized = entry_.isQuantized;
  tolerance.isExact = isExact;
  for (auto [value, a, b] : zip_equal(entry_.outputs, got, expected_)) {
    run.outputs.push_back({value, compareTensors(a, b, tolerance)});
  }
  if (json_) {
    runs_.push_back(toJSON(run));
  } else {
    printRun(run, textOut());
  }
  return toStatus(run);
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
  auto wanted = readOutputs(expect_, entry_);
  if (!wanted) {
    return wanted.status();
  }
  inputs_ = std::move(*read);
  expected_ = std::move(*wanted);
  return Status();
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
  if (Status status = sessionFlags_.agree(readTensors()); !status.isOk()) {
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

/// All of `model`, which came from `name`, on one device.
divisi::Expected<LoadedEntry>
CheckVerb::loadSingle(Compilation &model, const std::string &name,
                      const PlanOptions &plan) const {
  if (model.stage() > Stage::Plan) {
    return Status(
        ExitCode::Usage,
        "'" + name + "' has been through the stage " +
            stringifyStage(model.stage()).str() +
            ", so it cannot be compared with one device; check the plan or the "
            "model, or compile it and check the artifact with --expect");
  }
  PlanOptions single;
  single.grid.devices = 1;
  single.hostInstructionSet = plan.hostInstructionSet;
  single.control = plan.control;
  // Nobody asked for this plan, so that nothing is to be said of it.
  single.control.onPlan = {};
  return loadPlanned(model, single, sessionFlags_, /*isReference=*/true);
}

/// What the entry takes, and what is expected unless a file says so.
Status CheckVerb::expectOf(const LoadedEntry &loaded) {
  entry_ = *loaded.entry;
  if (Status status = gatherInputs(); !status.isOk()) {
    return status;
  }
  auto wanted =
      expect_.empty() ? loaded.runWhole(inputs_) : readOutputs(expect_, entry_);
  if (!wanted) {
    return wanted.status();
  }
  expected_ = std::move(*wanted);
  return Status();
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
Status CheckVerb::checkRewritten(Compilation &model, CompileOptions options,
                                 const PlanOptions &plan) {
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
    auto loaded = loadSingle(model, input_, plan);
    return loaded ? expectOf(*loaded) : loaded.status();
  }
  auto after = loadSingle(model, input_, plan);
  if (!after) {
    return after.status();
  }
  if (!beforeFrom_.empty()) {
    auto read = loadBefore(beforeFrom_, std::move(options), *after->entry);
    if (!read) {
      return read.status();
    }
    before = std::move(*read);
  }
  auto loaded =
      loadSingle(*before, beforeFrom_.empty() ? input_ : beforeFrom_, plan);
  Status status = loaded ? expectOf(*loaded) : loaded.status();
  auto old = rewrite::getRuleRecords(before->module());
  auto now = rewrite::getRuleRecords(model.module());
  status = !status.isOk() ? status : !old ? old.status() : now.status();
  if (status.isOk()) {
    status = checkAlike(entry_, *after->entry);
  }
  auto got = status.isOk()
                 ? after->runWhole(inputs_)
                 : divisi::Expected<std::vector<rt::HostTensor>>(status);
  if (!got) {
    return got.status();
  }
  CheckedRun run{"the rewritten program on one device", {}};
  run.rules = rewrite::appliedSince(*old, std::move(*now));
  bool isExact = !run.rules->empty() && expect_.empty() &&
                 sessionFlags_.backends == "reference" &&
                 !rtol_.getNumOccurrences() && !atol_.getNumOccurrences() &&
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
  auto got = loaded->runWhole(inputs_);
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
Status CheckVerb::checkPlans(Compilation &model, PlanOptions plan) {
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

/// One import for all plans.
Status CheckVerb::checkModel() {
  divisi::Expected<CompileOptions> options =
      gatherOptions(importFlags_, planFlags_);
  if (!options) {
    return options.status();
  }
  options->deviceOf = nullptr; // it runs here, whatever the cluster has
  Status status = readGiven(options->import);
  Compilation model(*options);
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
  PlanOptions plan = model.planOptions();
  bool isToBeRewritten =
      model.stage() < Stage::Rewrite && model.rewriteMode() != RewriteMode::Off;
  if (isToBeRewritten || !beforeFrom_.empty()) {
    status = checkRewritten(model, std::move(*options), plan);
  } else {
    auto loaded = loadSingle(model, input_, plan);
    status = loaded ? expectOf(*loaded) : loaded.status();
  }
  return status.isOk() ? checkPlans(model, plan) : status;
}

Status CheckVerb::run() {
  bool named = StringRef(input_).ends_with(".divisi");
  Status status = readTolerance();
  auto isDone = status.isOk() ? sessionFlags_.launch(*this, input_)
                              : divisi::Expected<bool>(status);
  if (!isDone || *isDone) {
    return isDone.status();
  }
  if (status.isOk()) {
    status = isArtifact(input_) || named ? checkArtifact() : checkModel();
  }
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
