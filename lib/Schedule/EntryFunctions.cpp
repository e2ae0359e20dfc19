//===- EntryFunctions.cpp - The functions of each entry -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Schedule/EntryFunctions.h"

#include "dialects/SPMD/Strategy.h"

using namespace mlir;

llvm::MapVector<StringRef, SmallVector<func::FuncOp>>
divisi::functionsOfEntries(ModuleOp module) {
  llvm::MapVector<StringRef, SmallVector<func::FuncOp>> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto entry = function->getAttrOfType<StringAttr>(spmd::SPMDDialect::kEntry);
    if (entry && spmd::isEntry(function)) {
      entries[entry.getValue()].push_back(function);
    }
  }
  return entries;
}
