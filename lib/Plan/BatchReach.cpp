//===- BatchReach.cpp - Which loops the batch reaches ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchReach.h"

#include "dialects/NN/Batches.h"

#include "mlir/IR/BuiltinTypes.h"

namespace divisi::plan {

void BatchReach::begin(mlir::BlockArgument argument) {
  auto entry =
      llvm::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  if (entry.getArgAttr(argument.getArgNumber(), nn::kSharedAttr)) {
    return;
  }
  auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
  Reach reach(type.getRank(), 1);
  if (batchDim_ < type.getRank()) {
    reach[batchDim_] = type.getDimSize(batchDim_);
  }
  reach_[argument] = reach;
}

void BatchReach::follow(mlir::Value value, mlir::Value source) {
  auto known = reach_.find(source);
  if (known == reach_.end()) {
    reach_.erase(value);
  } else {
    reach_[value] = Reach(known->second);
  }
}

void BatchReach::enter(Site &site, mlir::ValueRange operands) const {
  site.batch.assign(site.nest.loops.size(), false);
  for (auto [number, operand] : llvm::enumerate(operands)) {
    auto known = reach_.find(operand);
    if (known == reach_.end()) {
      continue;
    }
    const TensorMap &map = site.nest.operands[number];
    for (auto [dim, reached] : llvm::zip_equal(map.dims, known->second)) {
      int64_t major = 1;
      for (LoopId loop : dim.loops) {
        if (major >= reached) {
          break;
        }
        site.batch[loop.index] = true;
        major *= site.nest.loop(loop).extent;
      }
    }
  }
}

/// As far as the major loops of each dimension are reached: of [B·S, E] the B
/// iterations of the first.
void BatchReach::leave(const Site &site, mlir::ValueRange results) {
  for (auto [number, result] : llvm::enumerate(results)) {
    Reach reach;
    for (const DimMap &dim : site.nest.results[number].dims) {
      int64_t major = 1;
      for (LoopId loop : dim.loops) {
        if (!site.batch[loop.index]) {
          break;
        }
        major *= site.nest.loop(loop).extent;
      }
      reach.push_back(major);
    }
    reach_[result] = reach;
  }
}

} // namespace divisi::plan
