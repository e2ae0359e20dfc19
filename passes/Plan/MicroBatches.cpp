//===- MicroBatches.cpp - Several batches in one call ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   @forward(%x: tensor<4xf32>): %y = nn.relu %x; return %y
//   =>  @forward(%x: tensor<8xf32>):
//         %x0 = nn.slice %x [0, 4); %y0 = nn.relu %x0
//         %x1 = nn.slice %x [4, 8); %y1 = nn.relu %x1
//         return nn.concat %y0, %y1
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace divisi {
#define GEN_PASS_DEF_MICROBATCHES
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;

namespace {

/// See Passes.td.
class MicroBatchesPass
    : public divisi::impl::MicroBatchesBase<MicroBatchesPass> {
public:
  using MicroBatchesBase::MicroBatchesBase;

  void runOnOperation() override;

private:
  LogicalResult check(func::FuncOp entry);
  SmallVector<Value> widenArguments(func::FuncOp entry);
  void repeat(func::FuncOp entry);
};

} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether batches of the entry can follow each other.
LogicalResult MicroBatchesPass::check(func::FuncOp entry) {
  for (auto update : entry.getOps<nn::UpdateOp>()) {
    return update.emitOpError()
           << "changes the global @" << update.getGlobal()
           << ", and micro-batches are independent: leave out "
              "--micro-batches, or train with it (--train)";
  }
  Operation *end = entry.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    if (typeOf(value).getRank() == 0) {
      return entry.emitOpError()
             << "returns one number as its output " << i
             << ", which cannot be joined of micro-batches: leave out "
                "--micro-batches";
    }
  }
  return success();
}

/// Its arguments that are no scalars have all batches from now on; their slices
/// for the first one are what takes their place.
SmallVector<Value> MicroBatchesPass::widenArguments(func::FuncOp entry) {
  SmallVector<Value> firsts;
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.front());
  for (BlockArgument argument : entry.getArguments()) {
    RankedTensorType one = typeOf(argument);
    if (one.getRank() == 0) {
      firsts.push_back(argument);
      continue;
    }
    argument.setType(nn::typeOfBatches(one, count));
    nn::SliceOp first = nn::sliceBatch(builder, argument, count, 0);
    argument.replaceAllUsesExcept(first.getY(), first);
    firsts.push_back(first.getY());
  }
  return firsts;
}

void MicroBatchesPass::repeat(func::FuncOp entry) {
  SmallVector<Value> firsts = widenArguments(entry);
  Operation *end = entry.front().getTerminator();
  SmallVector<Operation *> batch;
  for (Operation &op : entry.front().without_terminator()) {
    // What is the same for all is there once.
    bool isSlice = llvm::any_of(
        firsts, [&](Value first) { return first.getDefiningOp() == &op; });
    if (!isSlice && !isa<nn::ReadOp, nn::ConstantOp>(op)) {
      batch.push_back(&op);
    }
  }
  SmallVector<SmallVector<Value>> results;
  for (Value value : end->getOperands()) {
    results.push_back({value});
  }
  OpBuilder builder(end);
  for (int64_t number = 1; number < count; ++number) {
    IRMapping mapping;
    for (auto [first, argument] : llvm::zip(firsts, entry.getArguments())) {
      if (first != argument) {
        mapping.map(first,
                    nn::sliceBatch(builder, argument, count, number).getY());
      }
    }
    for (Operation *op : batch) {
      builder.clone(*op, mapping);
    }
    for (auto [result, value] : llvm::zip(results, end->getOperands())) {
      result.push_back(mapping.lookupOrDefault(value));
    }
  }
  SmallVector<Type> types;
  for (auto [i, parts] : llvm::enumerate(results)) {
    Value whole =
        nn::ConcatOp::create(builder, nn::batchLocation(builder), parts, 0);
    end->setOperand(unsigned(i), whole);
    types.push_back(whole.getType());
  }
  entry.setFunctionType(builder.getFunctionType(
      SmallVector<Type>(entry.front().getArgumentTypes()), types));
}

void MicroBatchesPass::runOnOperation() {
  if (count < 2) {
    return;
  }
  for (auto entry : getOperation().getOps<func::FuncOp>()) {
    if (!nn::isEntry(entry) || nn::isBody(entry)) {
      continue;
    }
    if (failed(check(entry))) {
      return signalPassFailure();
    }
    repeat(entry);
  }
}
