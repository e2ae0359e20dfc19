//===- MicroBatches.cpp - Several batches in one call ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   @forward(%x: tensor<4xf32>): %y = nn.relu %x; return %y
//   =>  @forward(%x: tensor<8xf32>) {pipe.micro_batches = 2}:
//         %x0 = nn.slice %x [0, 4) {pipe.each}; %y0 = nn.relu %x0 {pipe.each}
//         return nn.concat %y0, %y0 {pipe.join}
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"
#include "dialects/NN/Functions.h"
#include "dialects/Pipe/Pipe.h"
#include "passes/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

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
  SmallVector<nn::SliceOp> widenArguments(func::FuncOp entry);
  void fold(func::FuncOp entry);
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

/// Its arguments that have a batch have all batches from now on; slices for the
/// first one take their place.
SmallVector<nn::SliceOp> MicroBatchesPass::widenArguments(func::FuncOp entry) {
  SmallVector<nn::SliceOp> firsts;
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.front());
  for (BlockArgument argument : entry.getArguments()) {
    if (!nn::hasBatch(entry, argument.getArgNumber())) {
      continue;
    }
    argument.setType(nn::typeOfBatches(typeOf(argument), count));
    firsts.push_back(nn::sliceBatch(builder, argument, count, 0));
    argument.replaceAllUsesExcept(firsts.back().getY(), firsts.back());
  }
  return firsts;
}

/// Lets the operators of `entry`, which are those of one batch, stand for all.
void MicroBatchesPass::fold(func::FuncOp entry) {
  llvm::DenseSet<Value> depending;
  OpBuilder builder(entry.getContext());
  for (nn::SliceOp first : widenArguments(entry)) {
    first->setAttr(pipe::PipeDialect::kEach, builder.getUnitAttr());
    depending.insert(first.getY());
  }
  for (Operation &op : entry.front().without_terminator()) {
    // What is the same for all is there once.
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return depending.contains(operand);
        })) {
      op.setAttr(pipe::PipeDialect::kEach, builder.getUnitAttr());
      depending.insert(op.result_begin(), op.result_end());
    }
  }
  Operation *end = entry.front().getTerminator();
  builder.setInsertionPoint(end);
  SmallVector<Type> types;
  for (OpOperand &operand : end->getOpOperands()) {
    SmallVector<Value> parts(size_t(count), operand.get());
    auto whole =
        nn::ConcatOp::create(builder, nn::batchLocation(builder), parts, 0);
    whole->setAttr(pipe::PipeDialect::kJoin, builder.getUnitAttr());
    operand.set(whole.getY());
    types.push_back(whole.getType());
  }
  entry.setFunctionType(builder.getFunctionType(
      SmallVector<Type>(entry.front().getArgumentTypes()), types));
  pipe::setFoldedBatches(entry, count);
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
    fold(entry);
  }
}
