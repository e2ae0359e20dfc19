//===- Compilation.h - A model on its way to an artifact --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Compilation holds a module and knows which stage it has reached. It begins
// with an ONNX model or with IR that was dumped after any stage, and goes on
// from there:
//
//   Compilation compilation(options);
//   compilation.load("gpt2.onnx");            // import
//   compilation.advanceTo(Stage::Lower);      // plan, partition, schedule, …
//   compilation.emit("gpt2.divisi");
//
// Every stage is the pipeline that divisi-opt knows as `divisi-<stage>`, which
// ends in the stage's verifier.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_COMPILATION_H
#define DIVISI_COMPILER_COMPILATION_H

#include "divisi/Artifact/Emit.h"
#include "divisi/Autodiff/Training.h"
#include "divisi/Compiler/Stage.h"
#include "divisi/Evaluate/DeviceTarget.h"
#include "divisi/Import/Import.h"
#include "divisi/Memory/EstimateMemory.h"
#include "divisi/Plan/PlanModule.h"
#include "divisi/Precision/Precision.h"
#include "divisi/Report/Report.h"
#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/Status.h"
#include "passes/Rewrite/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
class PassManager;
} // namespace mlir

namespace divisi {

struct InputFile;
struct InstructionSet;
struct LowerOptions;
struct SimulatedEntry;

/// Instead of a level: that of the instruction set of the machine that the
/// module is planned for.
inline constexpr llvm::StringLiteral kTargetLevel = "target";

/// What is to be least.
enum class Objective {
  Latency,    ///< The time of a run.
  Throughput, ///< From one output to the next, where runs follow each other.
  Step,       ///< The time of a training step.
};

/// What a Compilation is told.
struct CompileOptions {
  ImportOptions import;       ///< Unused where IR is read.
  PrecisionOptions precision; ///< Unused where IR is read.
  TrainOptions train;         ///< Unused where IR is read.
  SharedRules rules;          ///< A user's own; unused where IR is read.
  int64_t microBatches = 1;   ///< How many batches a call takes.
  /// Whether the shapes of a model are those of a whole batch, and how many
  /// micro-batches that is made of is searched.
  bool searchesMicroBatches = false;
  /// Whether that is because throughput is wanted: not of IR.
  bool impliesMicroBatches = false;
  /// What is to be least, if that was said; else Step of what is trained,
  /// otherwise Latency.
  std::optional<Objective> objective;
  /// Rows of the batch that a run has, if that was found out.
  std::optional<int64_t> rows;
  /// Whether plan.pipelineStages is searched.
  bool searchesStages = false;
  /// Whether plan.pipelineStages was asked for, be it 1.
  bool givesStages = false;
  /// Whether plan.dividesBranches was asked for, be it not.
  bool givesBranches = false;
  RewriteOptions rewrite; ///< Unused where IR has been rewritten.
  PlanOptions plan;       ///< Unused where IR is planned already.
  /// Without the report and the device, which are set here.
  EmitOptions emit;
  /// Stage::Lower lets what it has kernels for work in its memory. It needs no
  /// such device here; sessions of the artifact do.
  DeviceTarget device;
  /// What that is on the machine that the module is planned for; empty: as
  /// `device` says.
  std::function<DeviceTarget(const Cluster &machine)> deviceOf;
  /// Whether collectives run beside operators: else Stage::Schedule leaves the
  /// order as it is.
  bool overlap = true;
  /// Whether what one kernel can do becomes one call.
  bool fuse = true;
  /// The processor that regions become code of: "x86-64-v3", "x86-64-v4", or
  /// kTargetLevel; empty: none does.
  std::string nativeLevel = {};
  /// Passes that do not run, of those in LeaveOut.h.
  std::vector<std::string> leaveOut = {};
  /// Files and folders that the caller names for the text of a module, which
  /// may name others only beneath its own folder (lib/Compiler/DataFiles.h).
  std::vector<std::string> dataFiles = {};
  /// Stages after which the module is written to `dumpFolder`, as
  /// MODEL.STAGE.mlir, or to `dumpFile` if that is not empty.
  std::vector<Stage> dumpAfter;
  std::string dumpFolder;
  std::string dumpFile; ///< "-" is stdout.
  /// Told of every dump when it is written: its path, and its size.
  std::function<void(const std::string &path, Stage stage, int64_t bytes)>
      dumped;
  /// Told of what `precision` has changed; may be empty.
  std::function<void(const PrecisionRecord &record)> lowered;
  /// Told of which weights `train` trains; may be empty.
  std::function<void(const TrainedWeights &weights)> trained;
  /// Told of code in what was loaded that could not be made anew, which the
  /// artifact therefore lacks or is not signed for; may be empty.
  std::function<void(const std::string &text)> warned;
  /// Whether artifact and dumps say what the plan does.
  bool report = true;
  /// Told when a phase begins, for the progress line, and "" when the last one
  /// that was asked for is over; may be empty.
  std::function<void(llvm::StringRef phase)> progress;
};

/// Whether so many micro-batches are tried on several numbers of stages.
bool searchesStagesOf(int64_t microBatches);

/// Whether so many micro-batches of a step on one stage are planned as one that
/// stands for all, as those of a pipeline are, and written out; else a few are
/// the body of a loop.
bool isPlannedAsOne(int64_t microBatches);

/// See the file's head. Not for use by two threads.
class Compilation {
public:
  /// Of a model that `load` will read, in a context of its own.
  explicit Compilation(CompileOptions options);

  /// Of a module that has been through `stage`. Its context must outlive this;
  /// `store` has the bytes of its globals, null if it has none.
  Compilation(CompileOptions options, mlir::OwningOpRef<mlir::ModuleOp> module,
              Stage stage, std::shared_ptr<GlobalStore> store = nullptr);

  /// Reads `path`, "-" being stdin, which messages and the artifact's report
  /// call `pipeName`: the text of a module, whose weights lie in
  /// files beneath its folder or in CompileOptions::dataFiles, or an ONNX
  /// model, which is imported; its content tells. A dump is checked by the
  /// verifier of its stage. ExitCode::File, Invalid, Unsupported or Usage.
  Status load(const std::string &path, const std::string &pipeName = "stdin");

  /// The files that globals lie in, each once, by their whole names.
  std::vector<std::string> dataFiles();
  /// The file of the ONNX model that this is of, as far as it can be found:
  /// what load has read, or beside the weights of a dump. Empty if it cannot.
  std::string modelFile();
  /// Where dumps will be written. Those after import, too: not by load, but
  /// when the next stage begins, so that a caller may look at names first.
  std::vector<std::string> dumpPaths();
  /// Whether the bytes of all globals can be had, without reading them: what
  /// would fail after minutes may be known now. ExitCode::File.
  Status checkWeights();
  /// Takes the plan off what was loaded, back to Stage::Import, so that it is
  /// planned again: for as many devices if the options do not say how many.
  /// What `keep` names stays as it is (Plan/DropPlan.h). ExitCode::Usage for a
  /// name that means nothing, and after Stage::Plan.
  Status replan(llvm::ArrayRef<std::string> keep);
  /// Before replan(): lets the options ask for what the loaded plan was asked
  /// for (degrees, limit, stages, …), where they do not say otherwise; `told`
  /// is told of it. What cannot be so on other devices is told, too, or fails
  /// with ExitCode::Usage. The grid of a plan of which something is kept stays.
  Status keepRequest(bool keepsGrid,
                     const std::function<void(const std::string &)> &told);

  /// Gives operators of the plan another strategy (Plan/SetSplit.h), notes that
  /// the plan was edited, and tells what it takes now, in nanoseconds. The
  /// module has reached Stage::Plan. ExitCode::Usage as there, and after
  /// Stage::Plan; Invalid for a strategy that an operator cannot have: the
  /// module is then as it was edited, for nobody to use.
  Expected<int64_t> setSplit(llvm::StringRef operators, llvm::StringRef split);

  /// Runs the stages that are missing. ExitCode::Usage or Infeasible from the
  /// planner, Invalid for edited IR that breaks a rule.
  Status advanceTo(Stage stage);

  /// Writes the artifact; the module has reached Stage::Lower. Native code that
  /// it had when it came in is made anew before: the user's key signs only what
  /// was made here.
  Expected<EmitSummary> emit(const std::string &path);

  /// The same as a file that lives as long as what is returned, without a
  /// report.
  Expected<TemporaryArtifact> emitTemporary();

  /// Writes the module as text to `path`, "-" being stdout; the size of the
  /// text. It is one file, and names the model's files relative to its folder.
  Expected<int64_t> writeModule(const std::string &path);
  /// The same text, of a file in the working directory.
  Expected<std::string> moduleText();

  /// What the plan does; the module has reached Stage::Partition. Arenas and
  /// kernels are known after Stage::Lower.
  Expected<Report> report();

  /// What entries do when; the module is after Stage::Schedule and before
  /// Stage::Lower. ExitCode::Usage for another module.
  Expected<std::vector<SimulatedEntry>> simulate();

  /// The machine that the module is or will be planned for. ExitCode::Usage
  /// for one that there is not.
  Expected<Cluster> cluster();

  /// What the fullest device of each kind will hold; the module has reached
  /// Stage::Lower. Of another machine than this one without what kernels hold.
  Expected<std::vector<DeviceMemory>> memory();
  /// The same of a module that has reached Stage::Plan, by lowering a copy of
  /// it; nothing if that fails, for advanceTo says why.
  std::optional<std::vector<DeviceMemory>> memoryOfPlan(bool overlap);
  /// The same as keepToLimit() will leave it: not overlapped where that holds
  /// more than the limit.
  std::optional<std::vector<DeviceMemory>> memoryAsRun(bool overlap);

  /// What a run of a planned module takes, by the options with overlap or
  /// without, in nanoseconds; nothing if that is not known.
  std::optional<int64_t> timeOfPlan(mlir::ModuleOp planned);

  /// Another compilation of the same module with the same options: what stages
  /// change of one is not changed of the other, but both are for one thread.
  std::unique_ptr<Compilation> copy();

  /// Another compilation of the same module, which has been imported: it shares
  /// nothing that later stages change, and what @init computes is computed once
  /// for all of them. It makes neither dumps nor reports. For many plans of one
  /// model.
  std::unique_ptr<Compilation> fork(const PlanOptions &plan);

  /// How many devices the grids of the module have; 1 without a grid.
  int64_t numDevices();

  /// PlanControl::deadline from now on; none: without one.
  void setDeadline(std::optional<double> deadline) {
    options_.plan.control.deadline = deadline;
  }

  /// What Stage::Rewrite does where it is yet to come.
  RewriteMode rewriteMode() const { return options_.rewrite.mode; }
  /// Lets it do something else from now on.
  void setRewriteMode(RewriteMode mode) { options_.rewrite.mode = mode; }

  /// As far as it has come; null before load.
  mlir::ModuleOp module() { return *module_; }
  /// The last stage that the module has been through.
  Stage stage() const { return stage_; }
  /// What the module is or will be planned by; replan() may have added to it.
  const PlanOptions &planOptions() const { return options_.plan; }
  /// Whether load has read a model, not IR.
  bool isModel() const { return isModel_; }
  /// Whether what load has read is to become a training step.
  bool isTrained() const { return isTrained_; }
  /// Whether the module says what cluster it was planned for.
  bool notesCluster();

private:
  Status import(InputFile input);
  /// Imports the model of modelPath_, as the options say.
  Status importModel();
  /// Lets the plan of `imported` have what the annotations of its model say, if
  /// they are for as many devices.
  Status follow(const AnnotatedModel &model, mlir::ModuleOp imported);
  /// The same of a module that was imported before and has no plan.
  void followNoted();
  Status markWeights();
  Status shareInputs();
  Status chooseDevice();
  Status runStage(Stage stage);
  Status runPipeline(Stage stage);
  Status verifyStage();
  Status runPasses(mlir::PassManager &passes, Stage stage);
  /// What the fastest devices are, for which programs are searched: slow ones
  /// may be left idle.
  static DeviceKind fastestKind(const Cluster &machine);
  /// The stage Rewrite by a pipeline; notes what that is predicted to save.
  Status rewrite();
  /// The stage Rewrite where plans decide what it does; keeps the plan.
  Status rewriteJointly();
  /// The same of one plan and others.
  class JointRewriting;
  /// Plans so that what devices hold, all counted, is within the limit.
  Status planToFit();
  /// ExitCode::Usage for an objective that what is compiled, of `name`, does
  /// not have.
  Status checkObjective(llvm::StringRef name, bool isTrained) const;
  /// After Stage::Plan: notes what outputs are, if their rate counts.
  Status noteObjective();
  Status chooseStages();
  Status chooseMicroBatches();
  /// Compares numbers of micro-batches and stages.
  class PipelineTrials;
  /// The model, with its batch in so many micro-batches, of a pipeline or not.
  /// ExitCode::Usage if its shapes do not allow it.
  Expected<std::unique_ptr<Compilation>> inBatches(int64_t count,
                                                   bool isPipeline);
  /// Before stage `next`: keeps what keepToLimit() may want, and what measured
  /// plans no longer.
  void keepOrder(Stage next);
  Status lowerInOrder(mlir::OwningOpRef<mlir::ModuleOp> inOrder);
  /// At Stage::Lower: schedules and lowers again, without overlap, what holds
  /// more than the limit of its plan.
  Status keepToLimit();
  Status addMemory(Report &report);
  /// Measures plans, for this and all copies.
  class PlanMeter;
  PlanMeter &meter();
  Expected<EmitOptions> emitOptions();
  /// Makes anew the code that came in with the module.
  void remakeForeignCode();
  Expected<std::vector<DeviceMemory>> memoryOfRanks(mlir::ModuleOp module);
  LowerOptions lowerOptions();
  /// What processors of the machine can execute; null: they are none, or do not
  /// state it.
  const InstructionSet *instructionSet();
  std::string dumpPath(Stage stage);
  bool isDumped(Stage stage) const;
  Status dump(Stage stage);
  void tellPhase(llvm::StringRef phase);

  CompileOptions options_;
  std::shared_ptr<mlir::MLIRContext> context_;
  std::shared_ptr<GlobalStore> store_;
  std::shared_ptr<PlanMeter> meter_; ///< Null until a plan is measured.
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Stage stage_ = Stage::Import;
  /// As it is before Stage::Schedule; null where nobody will ask.
  mlir::OwningOpRef<mlir::ModuleOp> inOrder_;
  /// The plan of what Stage::Rewrite has left, where that has made one.
  mlir::OwningOpRef<mlir::ModuleOp> planned_;
  bool isModel_ = false;        ///< What load has read.
  bool isTrained_ = false;      ///< What becomes of it.
  bool isImported_ = false;     ///< Here, and not dumped yet.
  bool hasForeignCode_ = false; ///< Native code that was not made here.
  std::string inputName_;       ///< As the user said it; empty for stdin.
  std::string modelPath_;       ///< What the store calls the model's file.
  /// Made when the module is partitioned, which later stages change. A module
  /// that was read after that stage has it as an attribute.
  std::optional<Report> report_;
};

} // namespace divisi

#endif // DIVISI_COMPILER_COMPILATION_H
