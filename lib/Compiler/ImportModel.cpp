//===- ImportModel.cpp - A model becomes the module of a compilation ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "ErrorCollector.h"
#include "InputFile.h"
#include "ModuleReport.h"
#include "passes/Import/Passes.h"
#include "passes/ModuleNotes.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace divisi;

/// In memory the model's file has its whole name: dumps may lie elsewhere.
Status Compilation::import(InputFile input) {
  std::string path = input.isPiped ? input.name : resolvedPath(input.name);
  if (input.content) {
    std::shared_ptr<llvm::MemoryBuffer> content = std::move(input.content);
    StringRef bytes = content->getBuffer();
    store_->addBytes(
        path, std::as_bytes(std::span<const char>(bytes.data(), bytes.size())),
        content);
  }
  modelPath_ = std::move(path);
  return importModel();
}

Status Compilation::importModel() {
  const std::string &path = modelPath_;
  ErrorCollector errors(context_.get());
  Status followed;
  options_.import.annotated = [&](const AnnotatedModel &model,
                                  ModuleOp module) {
    followed = follow(model, module);
  };
  Expected<OwningOpRef<ModuleOp>> module =
      importOnnx(path, options_.import, *context_, *store_);
  if (!module || !followed.isOk()) {
    return module ? followed : module.status();
  }
  module_ = std::move(*module);
  if (Status status = markWeights(); !status.isOk()) {
    return status;
  }
  if (Status status = runPipeline(Stage::Import); !status.isOk()) {
    return status;
  }
  isTrained_ = options_.train.isWanted();
  if (Status status = shareInputs(); !status.isOk()) {
    return status;
  }
  noteOnModule(*module_, kModelAttr, llvm::sys::path::filename(path));
  isModel_ = isImported_ = true;
  Expected<std::optional<PrecisionRecord>> record =
      getPrecisionRecord(*module_);
  if (record && *record && options_.lowered) {
    options_.lowered(**record);
  }
  return record.status();
}
