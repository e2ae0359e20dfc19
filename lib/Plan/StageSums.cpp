//===- StageSums.cpp - Sums of several stages -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageSums.h"

#include "dialects/NN/Batches.h"
#include "dialects/Pipe/Pipe.h"
#include "dialects/SPMD/SPMD.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace divisi::plan {

namespace {

/// Splits the sums of one entry. One use.
class SumSplitter {
public:
  SumSplitter(func::FuncOp entry, DenseMap<Operation *, int64_t> &chunks,
              ArrayRef<int64_t> stageOfChunk, MoveCopy move)
      : entry_(entry), chunks_(chunks), stageOfChunk_(stageOfChunk),
        move_(move) {}

  void run();

private:
  /// Per stage what it makes of a sum.
  using Terms = std::map<int64_t, Value>;

  int64_t chunkOf(Value value) const {
    return chunks_.lookup(value.getDefiningOp());
  }
  int64_t stageOf(Value value) const {
    return stageOfChunk_[size_t(chunkOf(value))];
  }
  nn::AddOp copyTo(int64_t chunk, nn::AddOp add, Value a, Value b,
                   Operation *before);
  Terms joinByStage(ArrayRef<Value> summands, nn::AddOp sum);
  Value sumUp(Value term, nn::AddOp sum);
  void split(nn::AddOp sum);

  func::FuncOp entry_;
  DenseMap<Operation *, int64_t> &chunks_;
  ArrayRef<int64_t> stageOfChunk_;
  MoveCopy move_;
  unsigned number_ = 0; ///< Of the next value that is carried.
};

} // namespace

static bool isOfEach(Operation *op) {
  return op && op->hasAttr(pipe::PipeDialect::kEach);
}

/// Whether `add` adds what a micro-batch makes to what those before have made,
/// from zero on, and only what all have made is used.
static bool isSum(nn::AddOp add) {
  SmallVector<pipe::CarriedValue> takes = pipe::getTakes(add);
  return takes.size() == 1 && pipe::getGives(add).size() == 1 &&
         nn::isZeros(add->getOperand(takes.front().index)) &&
         isOfEach(add->getOperand(1 - takes.front().index).getDefiningOp()) &&
         !add->use_empty() && llvm::none_of(add->getUsers(), isOfEach);
}

/// Collects what sums of one micro-batch, for `sum` alone, make `value` of.
static void findSummands(Value value, SmallVectorImpl<Value> &summands) {
  auto add = value.getDefiningOp<nn::AddOp>();
  bool isSplit = add && add->hasOneUse() && pipe::getTakes(add).empty() &&
                 pipe::getGives(add).empty() &&
                 llvm::all_of(add->getOperands(), [&](Value operand) {
                   return operand.getType() == value.getType() &&
                          isOfEach(operand.getDefiningOp());
                 });
  if (!isSplit) {
    summands.push_back(value);
    return;
  }
  findSummands(add->getOperand(0), summands);
  findSummands(add->getOperand(1), summands);
}

static Operation *laterOf(Operation *one, Operation *other) {
  return one->isBeforeInBlock(other) ? other : one;
}

/// `a` + `b` on `chunk` as `add` is made there, in front of `before`.
nn::AddOp SumSplitter::copyTo(int64_t chunk, nn::AddOp add, Value a, Value b,
                              Operation *before) {
  OpBuilder builder(before);
  auto copy = nn::AddOp::create(builder, add.getLoc(), a, b);
  move_(copy, add, chunk);
  chunks_[copy] = chunk;
  return copy;
}

/// Adds what one stage makes within the micro-batch.
SumSplitter::Terms SumSplitter::joinByStage(ArrayRef<Value> summands,
                                            nn::AddOp sum) {
  Terms terms;
  for (Value summand : summands) {
    auto [known, isNew] = terms.try_emplace(stageOf(summand), summand);
    if (!isNew) {
      Operation *last =
          laterOf(known->second.getDefiningOp(), summand.getDefiningOp());
      nn::AddOp both = copyTo(chunks_.lookup(last), sum, known->second, summand,
                              last->getNextNode());
      both->setAttr(pipe::PipeDialect::kEach, UnitAttr::get(sum.getContext()));
      known->second = both;
    }
  }
  return terms;
}

/// The sum over micro-batches of `term`, on its chunk, as `sum` is made.
Value SumSplitter::sumUp(Value term, nn::AddOp sum) {
  int64_t chunk = chunkOf(term);
  auto begin = sum->getOperand(pipe::getTakes(sum).front().index)
                   .getDefiningOp<nn::ConstantOp>();
  Operation *next = term.getDefiningOp()->getNextNode();
  OpBuilder builder(next);
  auto zeros =
      nn::ConstantOp::create(builder, begin.getLoc(), begin.getValueAttr());
  move_(zeros, begin, chunk);
  chunks_[zeros] = chunk;
  nn::AddOp part = copyTo(chunk, sum, zeros, term, next);
  part->setAttr(pipe::PipeDialect::kEach, builder.getUnitAttr());
  pipe::setTakes(part, {{0, number_}});
  pipe::setGives(part, {{0, number_}});
  ++number_;
  return part;
}

void SumSplitter::split(nn::AddOp sum) {
  int64_t own = chunkOf(sum);
  SmallVector<Value> summands;
  findSummands(sum->getOperand(1 - pipe::getTakes(sum).front().index),
               summands);
  if (llvm::all_of(summands, [&](Value value) {
        return stageOf(value) == stageOf(sum);
      })) {
    return;
  }
  Operation *user = *sum->user_begin();
  for (Operation *other : sum->getUsers()) {
    user = other->isBeforeInBlock(user) ? other : user;
  }
  Value total;
  for (auto [stage, term] : joinByStage(summands, sum)) {
    Value part = sumUp(term, sum);
    total = total ? copyTo(own, sum, total, part, user).getResult() : part;
  }
  if (Attribute places = sum->getAttr(spmd::SPMDDialect::kPlaces);
      places && stageOf(total) == stageOf(sum)) {
    total.getDefiningOp()->setAttr(spmd::SPMDDialect::kPlaces, places);
  }
  sum->replaceAllUsesWith(ValueRange(total));
  SmallVector<Operation *> dead{sum};
  while (!dead.empty()) {
    Operation *op = dead.pop_back_val();
    if (!isa<nn::AddOp, nn::ConstantOp>(op) || !op->use_empty()) {
      continue;
    }
    SmallVector<Value> operands(op->getOperands());
    chunks_.erase(op);
    op->erase();
    for (Value operand : operands) {
      dead.push_back(operand.getDefiningOp());
    }
  }
}

void SumSplitter::run() {
  SmallVector<nn::AddOp> sums;
  for (Operation &op : entry_.front()) {
    for (pipe::CarriedValue value : pipe::getGives(&op)) {
      number_ = std::max(number_, value.number + 1);
    }
    if (auto add = dyn_cast<nn::AddOp>(op); add && isSum(add)) {
      sums.push_back(add);
    }
  }
  for (nn::AddOp sum : sums) {
    split(sum);
  }
}

void splitSums(func::FuncOp entry, DenseMap<Operation *, int64_t> &chunks,
               ArrayRef<int64_t> stageOfChunk, MoveCopy move) {
  SumSplitter(entry, chunks, stageOfChunk, move).run();
}

} // namespace divisi::plan
