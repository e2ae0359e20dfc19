//===- Compilation.cpp - A model on its way to an artifact ------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "dialects/Exec/Exec.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Compiler/Registration.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Evaluate/KernelCall.h"
#include "divisi/Report/Report.h"
#include "divisi/Support/OutputFile.h"
#include "passes/Import/Passes.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"
#include "passes/Plan/Plan.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

#include <filesystem>
#include <map>

using namespace mlir;
using namespace divisi;

/// On the module: the last stage that it has been through, the cluster that it
/// was planned for, and the plan's report. Dumps carry them.
static constexpr StringLiteral kStageAttr = "divisi.stage";
static constexpr StringLiteral kClusterAttr = "divisi.cluster";
static constexpr StringLiteral kReportAttr = "divisi.report";
static constexpr StringLiteral kModelAttr = "divisi.model";

static constexpr StringLiteral kStageNames[] = {"import", "plan", "partition",
                                                "lower"};

StringRef divisi::stringifyStage(Stage stage) {
  return kStageNames[size_t(stage)];
}

std::optional<Stage> divisi::parseStage(StringRef name) {
  const auto *found = llvm::find(kStageNames, name);
  return found == std::end(kStageNames)
             ? std::nullopt
             : std::optional(Stage(found - std::begin(kStageNames)));
}

/// Turns MLIR's diagnostics into the message of a Status.
struct Compilation::Diagnostics {
  explicit Diagnostics(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          add(diagnostic);
          return success();
        }) {}

  void add(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
      return;
    }
    llvm::raw_string_ostream os(text);
    os << (text.empty() ? "" : "\n  ");
    if (!isa<UnknownLoc>(diagnostic.getLocation())) {
      os << diagnostic.getLocation() << ": ";
    }
    os << diagnostic;
    for (Diagnostic &note : diagnostic.getNotes()) {
      os << "\n  note: " << note;
    }
  }

  Status failure(ExitCode code, StringRef what) const {
    return Status(code, text.empty() ? what.str() : text);
  }

  std::string text;
  ScopedDiagnosticHandler handler;
};

Compilation::Compilation(CompileOptions options)
    : options_(std::move(options)) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context_ =
      std::make_shared<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context_->loadAllAvailableDialects();
}

Compilation::~Compilation() = default;

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

void Compilation::setStage(Stage stage) {
  stage_ = stage;
  (*module_)->setAttr(kStageAttr,
                      StringAttr::get(context_.get(), stringifyStage(stage)));
}

/// Whether every operator of every entry function has a strategy.
static bool isPlanned(ModuleOp module) {
  bool planned = !module.getOps<spmd::GridOp>().empty();
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (!spmd::isEntry(function)) {
      continue;
    }
    function.walk([&](nn::LoopInterface op) {
      bool isGlobal = isa<nn::ReadOp, nn::UpdateOp>(op.getOperation());
      planned &= isGlobal || spmd::getSplit(op);
    });
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      planned &= bool(spmd::getArgPlace(function, i));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      planned &= bool(spmd::getResultPlace(function, i));
    }
  }
  return planned;
}

static bool hasEntry(ModuleOp module) {
  return !module.getOps<exec::EntryOp>().empty() ||
         llvm::any_of(module.getOps<mlir::func::FuncOp>(),
                      [](mlir::func::FuncOp function) {
                        return spmd::isEntry(function);
                      });
}

Status Compilation::loadText(const std::string &path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    return Status(ExitCode::File,
                  "cannot read '" + path + "': " + buffer.getError().message());
  }
  store_ = std::make_shared<GlobalStore>(
      std::filesystem::absolute(path).parent_path().string());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  Diagnostics diagnostics(context_.get());
  module_ = parseSourceFile<ModuleOp>(sources, ParserConfig(context_.get()));
  if (!module_) {
    return diagnostics.failure(ExitCode::Invalid, path + ": is no module");
  }
  // IR without a note of its stage was written by hand. What it says of
  // strategies the planner keeps; if it says all, there is nothing to plan.
  auto name = (*module_)->getAttrOfType<StringAttr>(kStageAttr);
  std::optional<Stage> stage = name ? parseStage(name.getValue())
                               : isPlanned(*module_)
                                   ? std::optional(Stage::Plan)
                                   : std::optional(Stage::Import);
  if (!stage) {
    return Status(ExitCode::Invalid, path + ": unknown stage '" + name.str() +
                                         "'; expected import, plan, partition "
                                         "or lower");
  }
  stage_ = *stage;
  if (!hasEntry(*module_)) {
    return Status(ExitCode::Invalid,
                  path + ": there is nothing to run: no function but @init");
  }
  return Status();
}

Status Compilation::load(const std::string &path) {
  if (options_.progress) {
    options_.progress("import");
  }
  if (path == "-" || llvm::sys::path::extension(path) == ".mlir") {
    return loadText(path);
  }
  store_ = std::make_shared<GlobalStore>();
  Diagnostics diagnostics(context_.get());
  // Dumps name the model's file, and may lie elsewhere.
  Expected<OwningOpRef<ModuleOp>> module =
      importOnnx(std::filesystem::absolute(path).lexically_normal().string(),
                 options_.import, *context_, *store_);
  if (!module) {
    return module.status();
  }
  module_ = std::move(*module);
  PassManager passes(context_.get());
  buildImportPipeline(passes);
  if (failed(passes.run(*module_))) {
    return diagnostics.failure(ExitCode::Invalid,
                               path + ": cleaning up the import failed "
                                      "without saying why");
  }
  (*module_)->setAttr(
      kModelAttr,
      StringAttr::get(context_.get(), llvm::sys::path::filename(path)));
  setStage(Stage::Import);
  return dumpIfAsked();
}

Status Compilation::writeModule(const std::string &path) {
  // What is called the blob here is a file beside the dump there.
  std::string blob = isWrittenInPlace(path)
                         ? std::string()
                         : std::filesystem::path(path).stem().string() + ".bin";
  SmallVector<nn::GlobalOp> renamed;
  for (auto global : module_->getOps<nn::GlobalOp>()) {
    if (!blob.empty() && global.getFile() &&
        *global.getFile() == StringRef(GlobalStore::kBlobFile)) {
      global.setFile(blob);
      renamed.push_back(global);
    }
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  module_->print(os, OpPrintingFlags().enableDebugInfo());
  os << "\n";
  for (nn::GlobalOp global : renamed) {
    global.setFile(GlobalStore::kBlobFile);
  }
  Status status = writeFile(path, text);
  if (status.isOk() && !renamed.empty()) {
    std::span<const std::byte> bytes = store_->blob();
    status =
        writeFile((std::filesystem::path(path).parent_path() / blob).string(),
                  {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }
  return status;
}

Status Compilation::dumpIfAsked() {
  if (!llvm::is_contained(options_.dumpAfter, stage_)) {
    return Status();
  }
  std::filesystem::path folder = options_.dumpFolder;
  return writeModule(
      (folder / (stringifyStage(stage_).str() + ".mlir")).string());
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Expected<Cluster> Compilation::cluster() {
  auto noted = (*module_)->getAttrOfType<StringAttr>(kClusterAttr);
  std::string spec = options_.plan.cluster;
  if (spec.empty() && noted) {
    spec = noted.str();
  }
  if (spec.empty()) {
    // A plan that someone wrote by hand: as many CPUs as its grids have.
    int64_t devices = 1;
    for (auto grid : module_->getOps<spmd::GridOp>()) {
      for (int64_t device : grid.getDeviceIds()) {
        devices = std::max(devices, device + 1);
      }
    }
    spec = "cpu:" + std::to_string(devices);
  }
  std::string error;
  std::optional<Cluster> cluster = parseCluster(spec, error);
  return cluster ? Expected<Cluster>(*cluster)
                 : Expected<Cluster>(Status(ExitCode::Usage, error));
}

Status Compilation::plan() {
  // Hand-written IR can bring its own grids; without --devices they say how
  // many there are.
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  PlanOptions options = options_.plan;
  Expected<PlanReport> report = planModule(*module_, options);
  if (!report) {
    return report.status();
  }
  if (!options.cluster.empty()) {
    (*module_)->setAttr(kClusterAttr,
                        StringAttr::get(context_.get(), options.cluster));
  }
  return Status();
}

Status Compilation::noteReport() {
  Expected<Cluster> machine = cluster();
  if (!machine) {
    return machine.status();
  }
  Expected<Report> report = makeReport(*module_, *machine);
  if (!report) {
    return report.status();
  }
  if (auto model = (*module_)->getAttrOfType<StringAttr>(kModelAttr)) {
    report->model = model.str();
  }
  std::string text;
  llvm::raw_string_ostream(text) << toJSON(*report);
  (*module_)->setAttr(kReportAttr, StringAttr::get(context_.get(), text));
  return Status();
}

Status Compilation::runStage(Stage stage) {
  if (options_.progress) {
    options_.progress(stringifyStage(stage));
  }
  Diagnostics diagnostics(context_.get());
  PassManager passes(context_.get());
  switch (stage) {
  case Stage::Import:
    return Status();
  case Stage::Plan:
    if (Status status = plan(); !status.isOk()) {
      return diagnostics.text.empty()
                 ? status
                 : Status(status.code(),
                          status.message() + "\n  " + diagnostics.text);
    }
    break;
  case Stage::Partition:
    buildPartitionPipeline(passes);
    break;
  case Stage::Lower:
    buildLowerPipeline(passes);
    break;
  }
  if (failed(passes.run(*module_))) {
    return diagnostics.failure(
        ExitCode::Invalid,
        ("the stage " + stringifyStage(stage) + " failed without saying why")
            .str());
  }
  if (stage == Stage::Partition) {
    if (Status status = noteReport(); !status.isOk()) {
      return status;
    }
  }
  setStage(stage);
  return dumpIfAsked();
}

Status Compilation::advanceTo(Stage stage) {
  while (stage_ < stage) {
    Status status = runStage(Stage(uint8_t(stage_) + 1));
    if (!status.isOk()) {
      return status;
    }
  }
  return Status();
}

/// Counts which backend takes the calls of `program`.
static void
countKernels(exec::ProgramOp program,
             std::map<std::pair<std::string, std::string>, int64_t> &calls) {
  for (auto call : program.getBody().getOps<exec::CallOp>()) {
    std::vector<rt::TensorInfo> operands, results;
    auto append = [](ValueRange buffers, std::vector<rt::TensorInfo> &infos) {
      for (Value buffer : buffers) {
        auto type = cast<exec::BufferType>(buffer.getType());
        infos.push_back(
            kernelTensor(type.getTensor()).value_or(rt::TensorInfo()));
      }
    };
    append(call.getInputs(), operands);
    append(call.getOutputs(), results);
    rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
    std::string op = call.getCallee().str();
    rt::CallSite site{op, attributes, operands, results};
    bool isFast = rt::cpuBackend().find(site);
    ++calls[{op,
             std::string(
                 (isFast ? rt::cpuBackend() : rt::referenceBackend()).name())}];
  }
}

Expected<Report> Compilation::report() {
  auto text = (*module_)->getAttrOfType<StringAttr>(kReportAttr);
  if (!text) {
    return Status(ExitCode::Invalid, "the module carries no report; resume "
                                     "from a stage before partition");
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text.getValue());
  if (!value) {
    return Status(ExitCode::Invalid,
                  "divisi.report: " + toString(value.takeError()));
  }
  Expected<Report> report = reportFromJSON(*value);
  if (!report) {
    return report.status();
  }
  std::map<std::pair<std::string, std::string>, int64_t> calls;
  for (auto program : module_->getOps<exec::ProgramOp>()) {
    countKernels(program, calls);
    for (int64_t rank : program.getRanks()) {
      if (size_t(rank) < report->devices.size()) {
        int64_t &arena = report->devices[rank].arenaBytes;
        arena = std::max<int64_t>(arena, program.getArenaBytes());
      }
    }
  }
  for (const auto &[key, count] : calls) {
    report->kernels.push_back({key.first, key.second, count});
  }
  return report;
}

Expected<EmitSummary> Compilation::emit(const std::string &path) {
  if (options_.progress) {
    options_.progress("emit");
  }
  EmitOptions options = options_.emit;
  if ((*module_)->hasAttr(kReportAttr)) {
    Expected<Report> noted = report();
    if (!noted) {
      return noted.status();
    }
    llvm::raw_string_ostream(options.report) << toJSON(*noted);
  }
  Diagnostics diagnostics(context_.get());
  return emitArtifact(*module_, *store_, path, options);
}

std::unique_ptr<Compilation> Compilation::fork(const PlanOptions &plan) {
  CompileOptions options = options_;
  options.plan = plan;
  options.dumpAfter.clear();
  auto other = std::make_unique<Compilation>(std::move(options));
  other->context_ = context_;
  other->store_ = store_;
  other->module_ = cast<ModuleOp>((*module_)->clone());
  other->stage_ = stage_;
  return other;
}
