//===- StageCosts.cpp - What nodes cost on stages of several sizes --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardBytes.h"
#include "StageCut.h"
#include "dialects/NN/Shapes.h"
#include "dialects/Pipe/Pipe.h"

using namespace mlir;

namespace divisi::plan {

/// What `op` takes in a call. Without micro-batches, all is of the one.
void StageCut::addTime(Operation *op, int64_t nanoseconds, NodeCost &cost) {
  bool isEach = microBatches_ == 1 || op->hasAttr(pipe::PipeDialect::kEach);
  cost.nanoseconds += isEach ? nanoseconds / microBatches_ : 0;
  cost.once += isEach ? 0 : nanoseconds;
}

/// The node that `op` is of or, if it is of none, the last one that it uses: it
/// joins what micro-batches return, say.
std::optional<size_t> StageCut::nodeNear(Operation *op) const {
  auto own = nodeOfOp_.find(op);
  std::optional<size_t> node;
  if (own != nodeOfOp_.end()) {
    node = own->second;
  }
  for (Value operand : op->getOperands()) {
    auto used = nodeOfOp_.find(operand.getDefiningOp());
    if (own == nodeOfOp_.end() && used != nodeOfOp_.end()) {
      node = std::max(node.value_or(used->second), used->second);
    }
  }
  return node;
}

/// They also differ in what goes on within them.
void StageCut::addWays(ArrayRef<func::FuncOp> entries) {
  std::vector<llvm::DenseMap<Operation *, int64_t>> times(plans_.count());
  for (size_t plan = 0; plan < plans_.count(); ++plan) {
    times[plan] = timesOfWays(plans_.grid(plan)->getParentOfType<ModuleOp>());
  }
  auto add = [&](Operation &op) {
    std::optional<size_t> node = nodeNear(&op);
    for (size_t kind = 0; node && kind < kinds_.kinds.size(); ++kind) {
      auto [plan, pool, begin, devices, isBound] = kinds_.kinds[kind];
      if (!isBound) {
        addTime(&op, times[plan].lookup(plans_.twin(plan, &op)),
                nodes_[*node].costs[kind]);
      }
    }
  };
  for (func::FuncOp entry : entries) {
    llvm::for_each(entry.front(), add);
  }
}

/// What is there of `op` from its forward to its backward phase.
void StageCut::addKept(Operation *op, size_t node) {
  for (OpResult result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    bool isKept = llvm::any_of(result.getUsers(), [&](Operation *user) {
      return !forward_.contains(user);
    });
    if (!isKept || !type) {
      continue;
    }
    for (auto [kind, own] : llvm::zip_equal(kinds_.kinds, nodes_[node].costs)) {
      Operation *twin = plans_.twin(kind.plan, op);
      own.bytesKept +=
          kind.isBound ? nn::byteCount(type).value_or(0) / kind.devices
                       : shardBytes(twin->getResult(result.getResultNumber()));
    }
  }
}

void StageCut::addGlobal(nn::GlobalOp global, size_t node) {
  int64_t all = nn::byteCount(global.getTensorType()).value_or(0);
  for (auto [kind, own] : llvm::zip_equal(kinds_.kinds, nodes_[node].costs)) {
    own.bytes += kind.isBound ? all / kind.devices
                              : shardBytes(plans_.twin(kind.plan, global));
  }
}

/// What they hold, as far as it tells them apart.
void StageCut::addMemory(func::FuncOp entry) {
  for (Operation &op : entry.front()) {
    auto own = nodeOfOp_.find(&op);
    if (own == nodeOfOp_.end()) {
      continue;
    }
    if (forward_.contains(&op)) {
      addKept(&op, own->second);
    }
    for (Value operand : op.getOperands()) {
      auto read = operand.getDefiningOp<nn::ReadOp>();
      auto global = read ? SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
                               read, read.getGlobalAttr())
                         : nn::GlobalOp();
      if (global && counted_.insert(global).second) {
        addGlobal(global, own->second);
      }
    }
  }
}

} // namespace divisi::plan
