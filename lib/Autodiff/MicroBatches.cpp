//===- MicroBatches.cpp - A batch in several parts ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"

#include "dialects/NN/Batches.h"
#include "dialects/NN/Bodies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// More batches than this are a loop, of whose body this many are one
/// iteration at most.
static constexpr int64_t kWrittenOut = 4;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

RankedTensorType MicroBatches::wholeOf(RankedTensorType part) const {
  return nn::typeOfBatches(part, count_);
}

MicroBatches::MicroBatches(func::FuncOp entry, int64_t count, bool isPipeline)
    : entry_(entry), count_(count), isPipeline_(isPipeline) {
  SmallVector<Type> types;
  for (BlockArgument argument : entry.getArguments()) {
    RankedTensorType part = typeOf(argument);
    bool hasBatch = nn::hasBatch(entry, argument.getArgNumber());
    types.push_back(hasBatch ? wholeOf(part) : part);
    if (types.back() == part) {
      continue;
    }
    OpBuilder builder(&entry.getBody().front(),
                      entry.getBody().front().begin());
    argument.setType(wholeOf(part));
    Value one = first(builder, argument);
    argument.replaceAllUsesExcept(one, one.getDefiningOp());
  }
  entry.setFunctionType(Builder(entry.getContext())
                            .getFunctionType(types, entry.getResultTypes()));
}

Value MicroBatches::first(OpBuilder &builder, Value whole) {
  if (count_ == 1 || typeOf(whole).getRank() == 0) {
    return whole;
  }
  firsts_.push_back(nn::sliceBatch(builder, whole, count_, 0));
  return firsts_.back().getY();
}

//===----------------------------------------------------------------------===//
// What depends on a batch
//===----------------------------------------------------------------------===//

/// What nobody uses would be repeated.
void MicroBatches::dropUnused(ArrayRef<Value> sums) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(entry_.getBody().front()))) {
    bool isSum = llvm::any_of(
        sums, [&](Value sum) { return sum.getDefiningOp() == &op; });
    if (!isSum && isOpTriviallyDead(&op)) {
      llvm::erase_if(firsts_, [&](nn::SliceOp first) { return first == &op; });
      op.erase();
    }
  }
}

/// Those that the model itself updates, each with the one read of it.
void MicroBatches::findStates() {
  for (auto update : entry_.getOps<nn::UpdateOp>()) {
    nn::ReadOp first;
    for (auto read : llvm::make_early_inc_range(entry_.getOps<nn::ReadOp>())) {
      if (read.getGlobal() != update.getGlobal()) {
        continue;
      }
      if (!first) {
        first = read;
        continue;
      }
      read.getValue().replaceAllUsesWith(first.getValue());
      read.erase();
    }
    updates_.push_back(update);
    reads_.push_back(first);
  }
}

void MicroBatches::findOperators(ArrayRef<Value> sums) {
  dropUnused(sums);
  findStates();
  llvm::DenseSet<Value> depending;
  for (nn::SliceOp first : firsts_) {
    depending.insert(first.getY());
  }
  for (nn::ReadOp read : reads_) {
    if (read) {
      depending.insert(read.getValue());
    }
  }
  for (Operation &op : entry_.getBody().front().without_terminator()) {
    bool depends = llvm::any_of(op.getOperands(), [&](Value operand) {
      return depending.contains(operand);
    });
    if (depends && !isa<nn::UpdateOp>(op)) {
      operators_.push_back(&op);
      depending.insert(op.result_begin(), op.result_end());
    }
  }
  llvm::copy_if(sums, std::back_inserter(parts_),
                [&](Value sum) { return depending.contains(sum); });
  for (size_t i = updates_.size(); i-- > 0;) {
    if (!depending.contains(updates_[i].getValue())) {
      updates_.erase(updates_.begin() + i);
      reads_.erase(reads_.begin() + i);
    }
  }
}

MicroBatches::Carried MicroBatches::addBatch(OpBuilder &builder,
                                             const Carried &before,
                                             IRMapping mapping, Take take) {
  for (nn::SliceOp first : firsts_) {
    mapping.map(first.getY(), take(first));
  }
  for (auto [read, state] : llvm::zip_equal(reads_, before.states)) {
    if (read) {
      mapping.map(read.getValue(), state);
    }
  }
  for (Operation *op : operators_) {
    builder.clone(*op, mapping);
  }
  Carried after;
  for (auto [part, sum] : llvm::zip_equal(parts_, before.sums)) {
    after.sums.push_back(
        nn::AddOp::create(builder, part.getLoc(), sum, mapping.lookup(part)));
  }
  for (nn::UpdateOp update : updates_) {
    after.states.push_back(mapping.lookupOrDefault(update.getValue()));
  }
  return after;
}

//===----------------------------------------------------------------------===//
// A few of them
//===----------------------------------------------------------------------===//

MicroBatches::Carried MicroBatches::writeOut(StepBuilder &b) {
  Carried carried{parts_, {}};
  for (nn::UpdateOp update : updates_) {
    carried.states.push_back(update.getValue());
  }
  for (int64_t number = 1; number < count_; ++number) {
    carried = addBatch(b.builder(), carried, IRMapping(), [&](nn::SliceOp one) {
      return nn::sliceBatch(b.builder(), one.getX(), count_, number).getY();
    });
  }
  return carried;
}

//===----------------------------------------------------------------------===//
// A loop of them
//===----------------------------------------------------------------------===//

/// What operators of a batch take that is the same for all, but constants.
SmallVector<Value> MicroBatches::findOutside() {
  llvm::SmallPtrSet<Operation *, 32> inside(operators_.begin(),
                                            operators_.end());
  inside.insert(firsts_.begin(), firsts_.end());
  for (nn::ReadOp read : reads_) {
    inside.insert(read);
  }
  llvm::SetVector<Value> outside;
  for (Operation *op : operators_) {
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source ||
          (!inside.contains(source) && !isa<nn::ConstantOp>(source))) {
        outside.insert(operand);
      }
    }
  }
  return outside.takeVector();
}

/// What slices are of, one batch a row.
SmallVector<Value> MicroBatches::makeRows(StepBuilder &b) {
  SmallVector<Value> rows;
  for (nn::SliceOp first : firsts_) {
    SmallVector<int64_t> shape(typeOf(first.getX()).getShape());
    shape.front() /= count_;
    shape.insert(shape.begin(), count_);
    rows.push_back(b.emit<nn::ReshapeOp>(first.getX(), shape));
  }
  return rows;
}

/// A private function of an index and arguments of `types`, the first of which
/// it returns: as many as are carried.
static func::FuncOp makeFunction(func::FuncOp entry, ArrayRef<Type> types,
                                 size_t carried) {
  OpBuilder builder(entry);
  SmallVector<Type> arguments{RankedTensorType::get({}, builder.getI64Type())};
  llvm::append_range(arguments, types);
  auto body = func::FuncOp::create(
      builder, entry.getLoc(), "micro_batches",
      builder.getFunctionType(arguments, types.take_front(carried)));
  body.setPrivate();
  body.addEntryBlock();
  SymbolTable(entry->getParentOfType<ModuleOp>()).insert(body);
  return body;
}

/// `index` of the loop is that of `written` batches, of which `number` is
/// wanted.
static Value batchOf(StepBuilder &b, Value index, int64_t written,
                     int64_t number) {
  Value at = written == 1 ? index : b.mul(index, double(written));
  return number == 0 ? at : b.add(at, b.numberLike(double(number), at));
}

void MicroBatches::fillBody(func::FuncOp body, ArrayRef<Value> outside,
                            int64_t written) {
  Block &block = body.getBody().front();
  OpBuilder end = OpBuilder::atBlockEnd(&block);
  func::ReturnOp::create(end, body.getLoc());
  StepBuilder b(body, nn::kBatchNode);
  IRMapping mapping;
  for (Operation *op : operators_) {
    for (Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<nn::ConstantOp>();
      if (constant && !mapping.contains(operand)) {
        b.builder().clone(*constant, mapping);
      }
    }
  }
  auto arguments = body.getArguments().drop_front();
  auto take = [&](size_t count) {
    auto taken = arguments.take_front(count);
    arguments = arguments.drop_front(count);
    return SmallVector<Value>(taken.begin(), taken.end());
  };
  Carried carried{take(parts_.size()), take(updates_.size())};
  SmallVector<Value> rows = take(firsts_.size());
  mapping.map(outside, arguments);
  for (int64_t number = 0; number < written; ++number) {
    Value at = batchOf(b, body.getArgument(0), written, number);
    carried = addBatch(b.builder(), carried, mapping, [&](nn::SliceOp first) {
      size_t i = llvm::find(firsts_, first) - firsts_.begin();
      return b.emit<nn::GatherOp>(rows[i], at, 0, 0);
    });
  }
  llvm::append_range(carried.sums, carried.states);
  block.getTerminator()->setOperands(carried.sums);
}

MicroBatches::Carried MicroBatches::makeLoop(StepBuilder &b) {
  int64_t written = isPipeline_ ? 1 : kWrittenOut;
  while (count_ % written != 0) {
    --written;
  }
  b.setName("micro_batches");
  SmallVector<Value> values, outside = findOutside();
  auto zeros = [&](Value like) {
    RankedTensorType type = typeOf(like);
    return b.emit<nn::ConstantOp>(DenseElementsAttr::get(
        type, b.builder().getZeroAttr(type.getElementType())));
  };
  for (Value part : parts_) {
    values.push_back(zeros(part));
  }
  for (auto [update, read] : llvm::zip_equal(updates_, reads_)) {
    values.push_back(read ? read.getValue() : zeros(update.getValue()));
  }
  size_t carried = values.size();
  llvm::append_range(values, makeRows(b));
  llvm::append_range(values, outside);
  SmallVector<Type> types(ValueRange(values).getTypes());
  func::FuncOp body = makeFunction(entry_, types, carried);
  if (isPipeline_) {
    body->setAttr(nn::kMicroBatchesAttr, b.builder().getUnitAttr());
  }
  fillBody(body, outside, written);
  int64_t iterations = count_ / written;
  auto loop = nn::LoopOp::create(
      b.builder(), b.location(), ArrayRef(types).take_front(carried),
      FlatSymbolRefAttr::get(body),
      b.number(double(iterations), b.builder().getI64Type()), values,
      b.builder().getI64IntegerAttr(iterations));
  auto sums = loop.getResults().take_front(parts_.size());
  auto states = loop.getResults().drop_front(parts_.size());
  return {{sums.begin(), sums.end()}, {states.begin(), states.end()}};
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

static bool isHalf(Value value) {
  Type element = getElementTypeOrSelf(value);
  return element.isBF16() || element.isF16();
}

/// `value` in f32 if it is narrower, and not rounded on its way from there if
/// what has rounded it is followed by sums and moves alone. `known` has what
/// was asked for before.
static Value widened(OpBuilder &builder, Value value, IRMapping &known) {
  if (!isHalf(value)) {
    return value;
  }
  if (Value wide = known.lookupOrNull(value)) {
    return wide;
  }
  Type f32 = builder.getF32Type();
  Operation *maker = value.getDefiningOp();
  Value wide;
  if (isa_and_nonnull<nn::AddOp, nn::TransposeOp, nn::ReshapeOp>(maker)) {
    IRMapping operands;
    for (Value operand : maker->getOperands()) {
      operands.map(operand, widened(builder, operand, known));
    }
    wide = builder.clone(*maker, operands)->getResult(0);
    wide.setType(typeOf(value).clone(f32));
  } else {
    auto cast = dyn_cast_or_null<nn::CastOp>(maker);
    Value source = cast ? cast.getX() : value;
    wide = getElementTypeOrSelf(source) == f32
               ? source
               : nn::CastOp::create(builder, value.getLoc(), source, f32);
  }
  known.map(value, wide);
  return wide;
}

void MicroBatches::repeat(StepBuilder &b, MutableArrayRef<Value> sums) {
  if (count_ == 1) {
    return;
  }
  SmallVector<Type> elements;
  IRMapping wide;
  for (Value &sum : sums) {
    elements.push_back(getElementTypeOrSelf(sum));
    sum = widened(b.builder(), sum, wide);
  }
  findOperators(sums);
  bool isWritten = !isPipeline_ && count_ <= kWrittenOut;
  Carried all = isWritten ? writeOut(b) : makeLoop(b);
  for (Value &sum : sums) {
    const Value *part = llvm::find(parts_, sum);
    sum = part == parts_.end() ? b.mul(sum, double(count_))
                               : all.sums[part - parts_.begin()];
  }
  for (auto [sum, element] : llvm::zip_equal(sums, elements)) {
    if (getElementTypeOrSelf(sum) != element) {
      sum = nn::CastOp::create(b.builder(), sum.getLoc(), sum, element).getY();
    }
  }
  for (auto [update, state] : llvm::zip_equal(updates_, all.states)) {
    update.getValueMutable().assign(state);
    update->moveBefore(entry_.getBody().front().getTerminator());
  }
  if (!isWritten) {
    for (Operation *op : llvm::reverse(operators_)) {
      op->erase();
    }
  }
}
