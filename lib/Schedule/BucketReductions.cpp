//===- BucketReductions.cpp - One reduction of several --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Schedule/BucketReductions.h"

#include "dialects/NN/NN.h"
#include "dialects/NN/Shapes.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Schedule/LocalOperation.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

#include <utility>

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {

/// What the reductions of a bucket have in common.
struct Kind {
  StringRef name; ///< Of the operation.
  ArrayAttr axes;
  Type element;
  GridOp grid;
  /// Over which their operands are partial, and over which dimension 0 of their
  /// results is split.
  SmallVector<AxisId, 2> partial, split;
  int64_t rows = 1; ///< Shards of that dimension.

  /// Of `reduce`; nothing if it can be in no bucket.
  static std::optional<Kind> of(Operation *reduce);
  friend bool operator==(const Kind &, const Kind &) = default;
};

/// Writes the operations of one bucket. Each tensor is a matrix there that has
/// a row for each shard of its sum.
class BucketBuilder {
public:
  BucketBuilder(Operation *before, Operation *like, const Kind &kind)
      : builder_(before), like_(like), kind_(kind) {}

  /// The sums of `members`, in order.
  SmallVector<Value> build(ArrayRef<StepInterface> members);
  ArrayRef<Operation *> made() const { return made_; }

private:
  RankedTensorType typeOf(ArrayRef<int64_t> shape, bool isSum);
  Value note(Operation *op, bool isSum);
  Value reshape(Location loc, Value value, ArrayRef<int64_t> shape, bool isSum);

  OpBuilder builder_;
  Operation *like_;
  Kind kind_;
  SmallVector<Operation *> made_;
};

/// Makes the buckets of one function.
class Bucketer {
public:
  Bucketer(func::FuncOp function, size_t most, OperationCost &cost)
      : block_(function.front()), most_(most), cost_(cost) {}

  int64_t run();

private:
  SmallVector<StepInterface> membersFrom(StepInterface first);
  std::optional<int64_t> timeOf(ArrayRef<Operation *> operations);
  std::optional<int64_t> timeTogether(ArrayRef<StepInterface> members);
  void replace(ArrayRef<StepInterface> members);

  Block &block_;
  size_t most_; ///< Each that may join prices them all.
  OperationCost &cost_;
  llvm::DenseSet<Operation *> open_; ///< Those that may still join.
};

} // namespace

std::optional<Kind> Kind::of(Operation *op) {
  if (!isa<AllReduceOp, ReduceScatterOp>(op) || !tagOf(op)) {
    return std::nullopt;
  }
  auto step = cast<StepInterface>(op);
  RankedTensorType type = step.getInput().getType();
  LocalAttr from = getLocal(type), to = getLocal(step.getOutput().getType());
  GridOp grid = lookupGrid(op, step.getGridAttr());
  if (!from || !to || !grid || nn::globalType(type).getNumElements() == 0 ||
      from.getLayout().partialKind != ReduceKind::Sum ||
      !withoutPartial(from.getLayout()).isReplicated()) {
    return std::nullopt;
  }
  Kind kind{op->getName().getStringRef(), step.getAxesAttr(),
            type.getElementType(), grid, from.getLayout().partialAxes};
  Layout rest = to.getLayout();
  if (isa<ReduceScatterOp>(op)) {
    DimLayout rows = std::exchange(rest.dims.front(), DimLayout());
    kind.split.assign(rows.axes.begin(), rows.axes.end());
    kind.rows = grid.getValue().product(rows.axes);
    int64_t extent = nn::globalShape(type).front();
    bool isEven = rows.largest(grid.getValue(), extent) * kind.rows == extent;
    rows.bounds.clear();
    if (!isEven || rows.largest(grid.getValue(), kind.rows) != 1) {
      return std::nullopt;
    }
  }
  return rest.isReplicated() ? std::optional(kind) : std::nullopt;
}

RankedTensorType BucketBuilder::typeOf(ArrayRef<int64_t> shape, bool isSum) {
  Layout layout = Layout::replicated(shape.size());
  if (!isSum) {
    layout.partialAxes = kind_.partial;
  } else if (!shape.empty()) {
    layout.dims.front().axes.assign(kind_.split.begin(), kind_.split.end());
  }
  return localType(RankedTensorType::get(shape, kind_.element),
                   kind_.grid.getValue(), layout);
}

/// Partial sums go through `op`; of sums each position has its rows.
Value BucketBuilder::note(Operation *op, bool isSum) {
  LoopNest nest = cast<nn::LoopInterface>(op).getLoopNest();
  Split split = Split::replicated(nest);
  if (!isSum) {
    split.carryAxes = kind_.partial;
  } else if (!kind_.split.empty()) {
    split.loopAxes.front() = kind_.split;
  }
  setSplit(op, kind_.grid, nest, split);
  made_.push_back(op);
  return op->getResult(0);
}

Value BucketBuilder::reshape(Location loc, Value value, ArrayRef<int64_t> shape,
                             bool isSum) {
  if (nn::globalShape(value.getType()) == shape) {
    return value;
  }
  return note(nn::ReshapeOp::create(builder_, loc, typeOf(shape, isSum), value),
              isSum);
}

SmallVector<Value> BucketBuilder::build(ArrayRef<StepInterface> members) {
  SmallVector<Value> matrices;
  int64_t rows = kind_.rows, all = 0;
  for (StepInterface member : members) {
    Value input = member.getInput();
    int64_t columns = nn::globalType(input.getType()).getNumElements() / rows;
    all += columns;
    matrices.push_back(reshape(member.getLoc(), input, {rows, columns}, false));
  }
  Location loc = like_->getLoc();
  Value joined = note(nn::ConcatOp::create(builder_, loc,
                                           typeOf({rows, all}, false), matrices,
                                           /*axis=*/1),
                      false);
  Operation *reduce = builder_.clone(*like_);
  reduce->setOperand(0, joined);
  Value sum = reduce->getResult(0);
  sum.setType(typeOf({rows, all}, true));
  made_.push_back(reduce);
  SmallVector<Value> sums;
  int64_t begin = 0;
  for (auto [member, matrix] : llvm::zip_equal(members, matrices)) {
    StepInterface own = member;
    int64_t columns = nn::globalShape(matrix.getType())[1];
    Value part = note(nn::SliceOp::create(
                          builder_, own.getLoc(), typeOf({rows, columns}, true),
                          sum, {0, begin}, {rows, begin + columns}, {1, 1}),
                      true);
    sums.push_back(reshape(own.getLoc(), part,
                           nn::globalShape(own.getOutput().getType()), true));
    begin += columns;
  }
  return sums;
}

/// Of all that is no view.
std::optional<int64_t> Bucketer::timeOf(ArrayRef<Operation *> operations) {
  int64_t sum = 0;
  for (Operation *op : operations) {
    if (!isOperator(op) && !tagOf(op)) {
      continue;
    }
    std::optional<MoveCost> price = priceOf(op, cost_);
    if (!price) {
      return std::nullopt;
    }
    sum += price->nanoseconds;
  }
  return sum;
}

std::optional<int64_t> Bucketer::timeTogether(ArrayRef<StepInterface> members) {
  BucketBuilder trial(block_.getTerminator(), members.front(),
                      *Kind::of(members.front()));
  trial.build(members);
  std::optional<int64_t> time = timeOf(trial.made());
  for (Operation *op : llvm::reverse(trial.made())) {
    op->erase();
  }
  return time;
}

/// `first`, and those behind it that join. Time begins when its operand is
/// there; operators go on meanwhile, but those that need a sum of the bucket.
SmallVector<StepInterface> Bucketer::membersFrom(StepInterface first) {
  SmallVector<StepInterface> members = {first};
  llvm::DenseSet<Operation *> needing = {first};
  std::optional<int64_t> alone = timeOf(first.getOperation());
  int64_t now = 0; // alone: when the links are free, one after the other
  for (Operation *op = first->getNextNode();
       op && alone && now < *alone && members.size() < most_;
       op = op->getNextNode()) {
    if (llvm::any_of(op->getOperands(), [&](Value operand) {
          return needing.contains(operand.getDefiningOp());
        })) {
      needing.insert(op);
      continue;
    }
    bool joins = open_.contains(op) && Kind::of(op) == Kind::of(first);
    if (!joins && !isOperator(op)) {
      continue;
    }
    std::optional<int64_t> own = timeOf(op);
    if (!own) {
      break;
    }
    if (!joins) {
      now += *own;
      continue;
    }
    members.push_back(cast<StepInterface>(op));
    *alone += *own;
    std::optional<int64_t> together = timeTogether(members);
    if (!together || now + *together >= *alone) {
      members.pop_back();
      break;
    }
    needing.insert(op);
  }
  return members;
}

/// What needs a sum, and stands before the last operand, comes behind.
void Bucketer::replace(ArrayRef<StepInterface> members) {
  StepInterface first = members.front(), last = members.back();
  BucketBuilder bucket(last->getNextNode(), first, *Kind::of(first));
  SmallVector<Value> sums = bucket.build(members);
  llvm::DenseSet<Operation *> needing(members.begin(), members.end());
  Operation *end = bucket.made().back();
  for (Operation *op = first->getNextNode(), *next; op != last; op = next) {
    next = op->getNextNode();
    if (!needing.contains(op) &&
        llvm::any_of(op->getOperands(), [&](Value operand) {
          return needing.contains(operand.getDefiningOp());
        })) {
      needing.insert(op);
      op->moveAfter(end);
      end = op;
    }
  }
  for (auto [member, sum] : llvm::zip_equal(members, sums)) {
    StepInterface own = member;
    own.getOutput().replaceAllUsesWith(sum);
    own.erase();
  }
}

int64_t Bucketer::run() {
  cost_.enter(block_);
  SmallVector<StepInterface> all;
  for (Operation &op : block_) {
    if (Kind::of(&op)) {
      all.push_back(cast<StepInterface>(op));
      open_.insert(&op);
    }
  }
  int64_t buckets = 0;
  for (StepInterface first : all) {
    if (!open_.erase(first)) {
      continue;
    }
    SmallVector<StepInterface> members = membersFrom(first);
    if (members.size() > 1) {
      for (StepInterface member : members) {
        open_.erase(member);
      }
      replace(members);
      ++buckets;
    }
  }
  uint64_t tag = 0;
  for (Operation &op : block_) {
    if (buckets > 0 && tagOf(&op)) {
      setTag(&op, tag++);
    }
  }
  return buckets;
}

int64_t divisi::bucketReductions(func::FuncOp function, size_t most,
                                 OperationCost &cost) {
  return Bucketer(function, most, cost).run();
}
