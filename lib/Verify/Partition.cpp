//===- Partition.cpp - Proof that a partition keeps a program -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Verify/Partition.h"

#include "Agreement.h"
#include "Dataflow.h"
#include "FunctionVerifier.h"
#include "Loops.h"
#include "dialects/NN/Functions.h"
#include "dialects/SPMD/SPMD.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::verify;

/// The functions that stand for one entry of the program.
using Parts = std::pair<StringRef, SmallVector<func::FuncOp>>;

// @init runs on whole tensors, before there are ranks.
static std::vector<Parts> collectEntries(ModuleOp module) {
  std::vector<Parts> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function.getName() == nn::kInitFunction) {
      continue;
    }
    StringRef name = entryOf(function);
    auto known = llvm::find_if(
        entries, [&](const Parts &parts) { return parts.first == name; });
    if (known == entries.end()) {
      known = entries.insert(entries.end(), {name, {}});
    }
    known->second.push_back(function);
  }
  return entries;
}

// Compares with what noteDataflow has noted, on every function alike.
static LogicalResult verifyComputes(ArrayRef<func::FuncOp> parts,
                                    ArrayRef<Computed> computed) {
  for (func::FuncOp part : parts) {
    auto noted =
        part->getAttrOfType<DenseI64ArrayAttr>(spmd::SPMDDialect::kComputes);
    if (!noted) {
      continue;
    }
    ArrayRef<int64_t> before = noted.asArrayRef();
    size_t same = 0;
    while (same < computed.size() && same < before.size() &&
           int64_t(computed[same].hash) == before[same]) {
      ++same;
    }
    if (same == computed.size() && same == before.size()) {
      continue;
    }
    return part.emitOpError()
           << "does not compute the same as the program before partitioning, "
              "first in "
           << (same < computed.size() ? computed[same].what
                                      : "the number of results and updates")
           << "; if this is intended, edit the program before the partition "
              "stage, or drop spmd.computes";
  }
  return success();
}

LogicalResult divisi::verifyPartition(ModuleOp module) {
  for (auto &[name, parts] : collectEntries(module)) {
    for (func::FuncOp part : parts) {
      if (failed(verifyFunction(part)) || failed(verifyBody(part))) {
        return failure();
      }
    }
    DataflowHashes hashes;
    if (failed(verifyOrder(parts)) || failed(hashes.run(parts)) ||
        failed(verifyAgreement(parts, hashes))) {
      return failure();
    }
    auto computed = computedIn(module, hashes);
    if (failed(computed) || failed(verifyComputes(parts, *computed))) {
      return failure();
    }
  }
  return success();
}
