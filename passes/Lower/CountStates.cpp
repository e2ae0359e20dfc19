//===- CountStates.cpp - What programs copy of globals --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/SpacePlacer.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

/// Whether `buffer` is read with the host, or something that is moved from it.
bool SpacePlacer::isWantedByHost(Value buffer) const {
  return llvm::any_of(buffer.getUses(), [&](OpOperand &use) {
    if (auto view = dyn_cast<ViewOp>(use.getOwner())) {
      return isWantedByHost(view.getBuffer());
    }
    auto op = cast<InstructionInterface>(use.getOwner());
    SmallVector<Value> writes = op.getWrites();
    if (llvm::is_contained(writes, buffer)) {
      return false;
    }
    auto call = dyn_cast<CallOp>(op.getOperation());
    bool moves = call ? isMover(call) : isa<CollectiveOp, TransferOp>(op);
    return moves
               ? llvm::any_of(
                     writes, [&](Value moved) { return isWantedByHost(moved); })
               : !isOnDevice(use);
  });
}

void SpacePlacer::countStates(Takes takes, Reaches reaches,
                              llvm::StringMap<StateCopies> &counts) {
  Block &body = program_.getBody().front();
  llvm::StringSet<> read, updated;
  for (auto global : body.getOps<GlobalOp>()) {
    read.insert(global.getGlobal());
  }
  for (auto update : body.getOps<UpdateOp>()) {
    updated.insert(update.getGlobal());
  }
  auto add = [&](StringRef name, StateCopies::Count &count) {
    bool isStep = read.contains(name) && updated.contains(name);
    ++(isStep ? count.first : count.second);
  };
  for (auto global : body.getOps<GlobalOp>()) {
    if (sites_.isConstant(global.getBuffer())) {
      continue;
    }
    StateCopies &copies = counts[global.getGlobal()];
    if (isWanted(global.getBuffer(), takes, reaches)) {
      add(global.getGlobal(), copies.withHost);
    }
    if (isWantedByHost(global.getBuffer())) {
      add(global.getGlobal(), copies.there);
    }
  }
  for (auto update : body.getOps<UpdateOp>()) {
    Value made = madeFrom(update.getSource(), reaches);
    // What is only moved goes along.
    if (!sites_.isConstant(made) && !made.getDefiningOp<GlobalOp>()) {
      StateCopies &copies = counts[update.getGlobal()];
      add(update.getGlobal(),
          liesOnDevice(made) ? copies.withHost : copies.there);
    }
  }
}
