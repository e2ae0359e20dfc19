//===- Compilation.h - A model on its way to an artifact --------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
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
//   compilation.advanceTo(Stage::Lower);      // plan, partition, lower
//   compilation.emit("gpt2.divisi");
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_COMPILATION_H
#define DIVISI_COMPILER_COMPILATION_H

#include "divisi/Artifact/Emit.h"
#include "divisi/Import/Import.h"
#include "divisi/Report/Report.h"
#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/Status.h"
#include "passes/Plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// The stages in order; each is named after what it produces.
enum class Stage : uint8_t { Import, Plan, Partition, Lower };
llvm::StringRef stringifyStage(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

struct CompileOptions {
  ImportOptions import;
  PlanOptions plan;
  EmitOptions emit;
  /// Stages after which the module is written to `dumpFolder`, as STAGE.mlir
  /// with the compiler's own constants beside it in STAGE.bin.
  std::vector<Stage> dumpAfter;
  std::string dumpFolder;
  /// Told when a phase begins, for the progress line; may be empty.
  std::function<void(llvm::StringRef phase)> progress;
};

/// See the file's head. Not for use by two threads.
class Compilation {
public:
  explicit Compilation(CompileOptions options);
  ~Compilation();

  /// Reads `path`: IR if it ends in .mlir or is "-", else ONNX, which is
  /// imported. ExitCode::File, Invalid, Unsupported or Usage.
  Status load(const std::string &path);

  /// Runs the stages that are missing. ExitCode::Usage or Infeasible from the
  /// planner, Invalid for edited IR that breaks a rule.
  Status advanceTo(Stage stage);

  /// Writes the artifact; the module has reached Stage::Lower.
  Expected<EmitSummary> emit(const std::string &path);

  /// Writes the module as text to `path`, "-" being stdout, and what it needs
  /// of the compiler's own bytes to `path` with the ending .bin.
  Status writeModule(const std::string &path);

  /// What the plan does; the module has reached Stage::Partition. Arenas are
  /// known after Stage::Lower.
  Expected<Report> report();

  /// Another compilation of the same imported module: it shares nothing that
  /// later stages change. For many plans of one model.
  std::unique_ptr<Compilation> fork(const PlanOptions &plan);

  mlir::ModuleOp module() { return *module_; }
  Stage stage() const { return stage_; }
  GlobalStore &store() { return *store_; }

private:
  struct Diagnostics;

  Status loadText(const std::string &path);
  Status runStage(Stage stage);
  Status plan();
  Status noteReport();
  /// The machine that the module is or will be planned for.
  Expected<Cluster> cluster();
  Status dumpIfAsked();
  void setStage(Stage stage);

  CompileOptions options_;
  std::shared_ptr<mlir::MLIRContext> context_;
  std::shared_ptr<GlobalStore> store_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Stage stage_ = Stage::Import;
};

} // namespace divisi

#endif // DIVISI_COMPILER_COMPILATION_H
