//===- Compilation.cpp - A model on its way to an artifact ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "ErrorCollector.h"
#include "InputFile.h"
#include "LeaveOut.h"
#include "ModuleFile.h"
#include "ModuleReport.h"
#include "dialects/NN/NN.h"
#include "divisi/Autodiff/Training.h"
#include "divisi/Cluster/InstructionSet.h"
#include "divisi/Compiler/Registration.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Cost/ScheduleRecord.h"
#include "divisi/Plan/DropPlan.h"
#include "divisi/Plan/PlanRecord.h"
#include "divisi/runtime/code/GridAttentionGradient.h"
#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/RemakeCode.h"
#include "passes/ModuleNotes.h"
#include "passes/Partition/Passes.h"
#include "passes/Plan/Passes.h"
#include "passes/Schedule/Passes.h"
#include "passes/Train/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Path.h"

#include <filesystem>

using namespace mlir;
using namespace divisi;

Compilation::Compilation(CompileOptions options)
    : options_(std::move(options)) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context_ =
      std::make_shared<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  // An error names its place; the whole function below it would bury that.
  context_->printOpOnDiagnostic(false);
  context_->loadAllAvailableDialects();
  leaveOut(*context_, options_.leaveOut);
}

Compilation::Compilation(CompileOptions options, OwningOpRef<ModuleOp> module,
                         Stage stage, std::shared_ptr<GlobalStore> store)
    : options_(std::move(options)),
      // Not owned.
      context_(std::shared_ptr<MLIRContext>(), module->getContext()),
      store_(store ? std::move(store) : std::make_shared<GlobalStore>()),
      module_(std::move(module)), stage_(stage),
      hasForeignCode_(hasNativeCode(*module_)) {}

void Compilation::tellPhase(StringRef phase) {
  if (options_.progress) {
    options_.progress(phase);
  }
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

Status Compilation::load(const std::string &path, const std::string &pipeName) {
  tellPhase("import");
  store_ = std::make_shared<GlobalStore>();
  Expected<InputFile> input = InputFile::open(path, pipeName);
  if (!input) {
    return input.status();
  }
  inputName_ = input->isPiped ? "" : path;
  if (!input->isModule) {
    if (Status status = checkObjective(input->name, options_.train.isWanted());
        !status.isOk()) {
      return status;
    }
    return options_.dataFiles.empty()
               ? import(std::move(*input))
               : makeError(ExitCode::Usage, "--data is for a dump: '",
                           input->name,
                           "' is a model, whose data lies beneath its folder");
  }
  Expected<ReadModule> read =
      readModule(std::move(*input), *context_, options_.dataFiles, *store_);
  if (!read) {
    return read.status();
  }
  module_ = std::move(read->module);
  stage_ = read->stage;
  hasForeignCode_ = hasNativeCode(*module_);
  Expected<TrainOptions> noted = notedTraining(*module_);
  isTrained_ = !noted || noted->isWanted(); // what is wrong, the stage says
  bool isStep = isTrained_ || SymbolTable::lookupSymbolIn(*module_, kTrainStep);
  if (Status status = checkObjective(path, isStep); !status.isOk()) {
    return status;
  }
  if (options_.searchesMicroBatches && !options_.impliesMicroBatches) {
    return makeError(ExitCode::Usage,
                     "--micro-batches auto divides the batch "
                     "of a model, and '",
                     path,
                     "' is IR, which has its "
                     "shapes; give the model, or a number");
  }
  options_.searchesMicroBatches = false;
  followNoted();
  return verifyStage();
}

Expected<int64_t> Compilation::writeModule(const std::string &path) {
  if (report_) {
    noteReport(*module_, *report_);
  }
  return writeModuleFile(*module_, *store_, path);
}

Expected<std::string> Compilation::moduleText() {
  if (report_) {
    noteReport(*module_, *report_);
  }
  return divisi::moduleText(*module_, *store_, "-");
}

/// After the input's name or, of a module that came through a pipe, after the
/// model that it notes.
std::string Compilation::dumpPath(Stage stage) {
  if (!options_.dumpFile.empty()) {
    return options_.dumpFile;
  }
  auto model = (*module_)->getAttrOfType<StringAttr>(kModelAttr);
  StringRef name = inputName_.empty() && model ? model.getValue() : inputName_;
  return (std::filesystem::path(options_.dumpFolder) / dumpName(name, stage))
      .string();
}

/// What is not trained is after Train what it was before.
bool Compilation::isDumped(Stage stage) const {
  return llvm::is_contained(options_.dumpAfter, stage) &&
         (stage != Stage::Train || isTrained_);
}

std::vector<std::string> Compilation::dumpPaths() {
  std::vector<std::string> paths;
  for (Stage stage : allStages()) {
    bool isToCome = stage > stage_ || (stage == stage_ && isImported_);
    if (isToCome && isDumped(stage)) {
      paths.push_back(dumpPath(stage));
    }
  }
  return paths;
}

/// Dumps the module after `stage` if that was asked for.
Status Compilation::dump(Stage stage) {
  if (!isDumped(stage)) {
    return Status();
  }
  std::string path = dumpPath(stage);
  Expected<int64_t> bytes = writeModule(path);
  if (bytes && options_.dumped) {
    options_.dumped(path, stage, *bytes);
  }
  return bytes.status();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

int64_t Compilation::numDevices() { return countUsedDevices(*module_); }

/// Runs `passes`, which belong to `stage`.
Status Compilation::runPasses(PassManager &passes, Stage stage) {
  ErrorCollector errors(context_.get());
  if (succeeded(passes.run(*module_))) {
    return Status();
  }
  return errors.failure(
      ExitCode::Invalid,
      ("the stage " + stringifyStage(stage) + " failed without saying why")
          .str());
}

/// Runs the pipeline of `stage`, that of divisi-opt's `--divisi-<stage>`.
Status Compilation::runPipeline(Stage stage) {
  PassManager passes(context_.get());
  switch (stage) {
  case Stage::Import: {
    const InstructionSet *set = instructionSet();
    options_.precision.keepsFirst = !options_.train.isWanted();
    buildImportPipeline(passes, options_.precision, set && set->sumsBytes,
                        options_.rules);
    break;
  }
  case Stage::Train: {
    Expected<TrainOptions> noted = notedTraining(*module_);
    if (!noted) {
      return noted.status();
    }
    if (noted->isWanted()) {
      buildTrainPipeline(passes);
    }
    break;
  }
  case Stage::Rewrite: {
    Expected<Cluster> machine = cluster();
    if (!machine) {
      return machine.status();
    }
    buildRewritePipeline(passes, options_.rewrite, fastestKind(*machine),
                         options_.rules);
    break;
  }
  case Stage::Plan:
    if (options_.microBatches > 1) {
      passes.addPass(createMicroBatches({.count = options_.microBatches}));
    }
    buildPlanPipeline(passes, options_.plan);
    break;
  case Stage::Partition:
    buildPartitionPipeline(passes);
    break;
  case Stage::Schedule:
    buildSchedulePipeline(passes, options_.overlap, options_.fuse);
    break;
  case Stage::Lower:
    buildLowerPipeline(passes, lowerOptions());
    break;
  }
  return runPasses(passes, stage);
}

/// Whoever has edited a dump may have broken what the next stage relies on.
Status Compilation::verifyStage() {
  PassManager passes(context_.get());
  switch (stage_) {
  case Stage::Import:
  case Stage::Train:
  case Stage::Rewrite:
    // Hand-written IR may name grids and strategies, which no import does; the
    // planner reads both.
    return Status();
  case Stage::Plan:
    passes.addPass(createVerifyPlan());
    break;
  case Stage::Partition:
  case Stage::Schedule:
    passes.addPass(createVerifyPartition());
    break;
  case Stage::Lower:
    passes.addPass(createVerifyLower());
    break;
  }
  return runPasses(passes, stage_);
}

Status Compilation::runStage(Stage stage) {
  if (stage != Stage::Plan || !planned_) { // else it was told
    tellPhase(stringifyStage(stage));
  }
  // Before the stage's work, which may take minutes.
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  if (stage == Stage::Partition) {
    // Who writes a plan need not write the machine in it.
    if (!options_.plan.cluster.empty() && !(*module_)->hasAttr(kClusterAttr)) {
      setCluster(*module_, *machine);
    }
    // Last chance: partition takes the strategies apart.
    if (Status status = notePlanEdits(*module_); !status.isOk()) {
      return status;
    }
  }
  keepOrder(stage);
  bool isDecided = stage != Stage::Rewrite && stage != Stage::Plan;
  if (!isDecided && std::exchange(options_.searchesStages, false)) {
    if (Status status = chooseStages(); !status.isOk()) {
      return status;
    }
  }
  auto isOther = [](const auto &group) { return !group.kind.isProcessor(); };
  if (stage == Stage::Rewrite && // GPUs have no kernels for wide heads
      (options_.device.backend || llvm::any_of(machine->devices, isOther))) {
    PassManager passes(context_.get());
    passes.addPass(createWriteAttention(
        {.widest = rt::GridAttentionGradient::mostColumns, .apart = true}));
    if (Status status = runPasses(passes, stage); !status.isOk()) {
      return status;
    }
  }
  bool isJoint = options_.rewrite.mode == RewriteMode::Joint;
  Status ran = stage == Stage::Rewrite ? isJoint ? rewriteJointly() : rewrite()
               : stage != Stage::Plan  ? runPipeline(stage)
                                       : planToFit();
  if (ran.isOk() && stage == Stage::Plan) {
    ran = noteObjective();
  }
  if (!ran.isOk()) {
    return ran;
  }
  if (stage == Stage::Train || stage == Stage::Rewrite ||
      (stage == Stage::Schedule && !options_.overlap)) {
    noteOnModule(*module_, kStageAttr, stringifyStage(stage));
  }
  if (stage == Stage::Partition && options_.report) {
    Expected<Report> report = reportOf(*module_, *machine);
    if (!report) {
      return report.status();
    }
    report_ = std::move(*report);
  }
  stage_ = stage;
  return dump(stage);
}

Status Compilation::advanceTo(Stage stage) {
  if (Status status = chooseDevice(); !status.isOk()) {
    return status;
  }
  if (std::exchange(options_.searchesMicroBatches, false)) {
    if (Status status = chooseMicroBatches(); !status.isOk()) {
      return status;
    }
  }
  if (std::exchange(isImported_, false)) {
    if (Status status = dump(Stage::Import); !status.isOk()) {
      return status;
    }
  }
  while (stage_ < stage) {
    Status status = runStage(Stage(uint8_t(stage_) + 1));
    status = status.isOk() && stage_ == Stage::Lower ? keepToLimit() : status;
    if (!status.isOk()) {
      return status;
    }
  }
  tellPhase("");
  return Status();
}

bool Compilation::notesCluster() { return (*module_)->hasAttr(kClusterAttr); }

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

// A module that was resumed after partition has the text alone.
Expected<Report> Compilation::report() {
  if (!report_) {
    auto text = (*module_)->getAttrOfType<StringAttr>(kReportAttr);
    if (!text) {
      return Status(ExitCode::Invalid, "the module carries no report; resume "
                                       "from a stage before partition");
    }
    Expected<Report> read = reportFromText(text.getValue());
    if (!read) {
      return read.status().in(kReportAttr.str());
    }
    report_ = std::move(*read);
  }
  Report report = *report_;
  Expected<std::vector<ScheduleRecord>> schedule = getScheduleRecords(*module_);
  if (!schedule) {
    return schedule.status();
  }
  if (!schedule->empty()) {
    report.schedule = std::move(*schedule);
  }
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  report.countsKernels |= options_.device.backend != nullptr;
  addLoweredFacts(*module_, *machine, report, options_.device.backend);
  if (stage_ == Stage::Lower) {
    if (Status status = addMemory(report); !status.isOk()) {
      return status;
    }
  }
  return report;
}

void Compilation::remakeForeignCode() {
  ForeignCode foreign = remakeCode(*module_);
  hasForeignCode_ = !foreign.kept.empty();
  for (const std::string &text : foreign.warnings()) {
    if (options_.warned) {
      options_.warned(text);
    }
  }
}

Expected<EmitOptions> Compilation::emitOptions() {
  if (hasForeignCode_) {
    remakeForeignCode();
  }
  EmitOptions options = options_.emit;
  options.isCodeOwn = !hasForeignCode_;
  options.device = options_.device.backend;
  if (notesCluster()) {
    Expected<Cluster> machine = getCluster(*module_);
    if (!machine) {
      return machine.status();
    }
    const LinkLevel *level = machine->machineLevel();
    options.machineDevices =
        uint32_t(std::min(machine->machineSize(), Cluster::maxDevices));
    options.machineLinks = level ? level->name : "";
  }
  return options;
}

Expected<EmitSummary> Compilation::emit(const std::string &path) {
  tellPhase("emit");
  Expected<EmitOptions> options = emitOptions();
  if (!options) {
    return options.status();
  }
  if (report_ || (*module_)->hasAttr(kReportAttr)) {
    Expected<Report> known = report();
    if (!known) {
      return known.status();
    }
    llvm::raw_string_ostream(options->report) << toJSON(*known);
  }
  ErrorCollector errors(context_.get());
  Expected<EmitSummary> summary =
      emitArtifact(*module_, *store_, path, *options);
  tellPhase("");
  return summary;
}

Expected<TemporaryArtifact> Compilation::emitTemporary() {
  Expected<EmitOptions> options = emitOptions();
  return options ? emitTemporaryArtifact(*module_, *store_, *options)
                 : Expected<TemporaryArtifact>(options.status());
}
