//===- ModuleFile.cpp - Modules as text: dumps, hand-written IR -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleFile.h"

#include "ErrorCollector.h"
#include "dialects/Exec/Exec.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Support/OutputFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <filesystem>

using namespace mlir;
using namespace divisi;

/// On the module: the last stage that it has been through.
static constexpr StringLiteral kStageAttr = "divisi.stage";

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

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

/// IR without a note of its stage was written by hand. What it says of
/// strategies the planner keeps; if it says all, there is nothing to plan.
static Expected<Stage> stageOf(ModuleOp module, const std::string &path) {
  auto name = module->getAttrOfType<StringAttr>(kStageAttr);
  if (!name) {
    return isPlanned(module) ? Stage::Plan : Stage::Import;
  }
  std::optional<Stage> stage = parseStage(name.getValue());
  if (!stage) {
    return Status(ExitCode::Invalid, path + ": unknown stage '" + name.str() +
                                         "'; expected import, plan, partition "
                                         "or lower");
  }
  return *stage;
}

// Whether there is anything to run is asked last: what does not parse or names
// an unknown stage is the better message.
Expected<ReadModule> divisi::readModule(const std::string &path,
                                        MLIRContext &context) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    return Status(ExitCode::File,
                  "cannot read '" + path + "': " + buffer.getError().message());
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  ErrorCollector errors(&context);
  ReadModule read;
  read.module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!read.module) {
    return errors.failure(ExitCode::Invalid, path + ": is no module");
  }
  Expected<Stage> stage = stageOf(*read.module, path);
  if (!stage) {
    return stage.status();
  }
  read.stage = *stage;
  if (!hasEntry(*read.module)) {
    return Status(ExitCode::Invalid,
                  path + ": there is nothing to run: no function but @init");
  }
  return read;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void divisi::noteStage(ModuleOp module, Stage stage) {
  module->setAttr(kStageAttr,
                  StringAttr::get(module.getContext(), stringifyStage(stage)));
}

Status divisi::writeModuleFile(ModuleOp module, const GlobalStore &store,
                               const std::string &path) {
  // What is called the blob here is a file beside the dump there.
  std::string blob = isWrittenInPlace(path)
                         ? std::string()
                         : std::filesystem::path(path).stem().string() + ".bin";
  SmallVector<nn::GlobalOp> renamed;
  for (auto global : module.getOps<nn::GlobalOp>()) {
    if (!blob.empty() && global.getFile() &&
        *global.getFile() == StringRef(GlobalStore::kBlobFile)) {
      global.setFile(blob);
      renamed.push_back(global);
    }
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().enableDebugInfo());
  os << "\n";
  for (nn::GlobalOp global : renamed) {
    global.setFile(GlobalStore::kBlobFile);
  }
  Status status = writeFile(path, text);
  if (status.isOk() && !renamed.empty()) {
    std::span<const std::byte> bytes = store.blob();
    status =
        writeFile((std::filesystem::path(path).parent_path() / blob).string(),
                  {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }
  return status;
}
