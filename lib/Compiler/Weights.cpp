//===- Weights.cpp - What a compilation does with weights -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/Compilation.h"

#include "ModuleReport.h"
#include "dialects/NN/NN.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace divisi;

/// Before anything is folded.
Status Compilation::markWeights() {
  if (!options_.train.isWanted()) {
    return Status();
  }
  Expected<TrainedWeights> weights =
      markTrained(*module_, *store_, options_.train);
  if (weights && options_.trained) {
    options_.trained(*weights);
  }
  return weights.status();
}

std::vector<std::string> Compilation::dataFiles() {
  std::vector<std::string> files;
  for (auto global : module_->getOps<nn::GlobalOp>()) {
    std::string file = global.getFile().value_or("").str();
    if (!file.empty() && !store_->bytesInMemory(file) &&
        !llvm::is_contained(files, file)) {
      files.push_back(file);
    }
  }
  return files;
}

std::string Compilation::modelFile() {
  if (isModel_) {
    return inputName_;
  }
  auto model = module_->getOperation()->getAttrOfType<StringAttr>(kModelAttr);
  for (const std::string &file : dataFiles()) {
    llvm::SmallString<128> beside(file);
    llvm::sys::path::remove_filename(beside);
    if (model) {
      llvm::sys::path::append(beside, model.getValue());
      if (llvm::sys::fs::exists(beside)) {
        return beside.str().str();
      }
    }
  }
  return "";
}

Status Compilation::checkWeights() {
  for (auto global : module_->getOps<nn::GlobalOp>()) {
    if (global.getFile()) {
      Status status = store_->find(global.getFile()->str());
      if (!status.isOk()) {
        return status.in("the bytes of '" + global.getSymName().str() + "'");
      }
    }
  }
  return Status();
}
