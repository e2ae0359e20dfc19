//===- RowCounts.cpp - Rows of which the run knows how many count ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCounts.h"

#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace divisi;

namespace {

/// Follows rows through one block.
class RowFollower {
public:
  RowFollower(OpBuilder &builder, ArrayRef<CountedRows> rows)
      : builder_(builder) {
    for (const CountedRows &one : rows) {
      rows_.try_emplace(one.value, one);
    }
  }

  Status follow(Operation &op);
  const CountedRows *rowsOf(Value value) const {
    auto found = rows_.find(value);
    return found == rows_.end() ? nullptr : &found->second;
  }

  /// What is there in the place of `value`.
  Value now(Value value) const {
    auto found = replaced_.find(value);
    return found == replaced_.end() ? value : found->second;
  }

private:
  Status scatter(nn::ScatterOp op);

  OpBuilder &builder_;
  llvm::DenseMap<Value, CountedRows> rows_;
  llvm::DenseMap<Value, Value> replaced_;
};

} // namespace

/// The loop that goes over `dim` alone, one iteration an index.
static std::optional<LoopId> loopOf(const LoopNest &nest, const DimMap &dim) {
  std::optional<LoopId> found;
  for (LoopId loop : dim.loops) {
    if (nest.loop(loop).extent == 1 && dim.loops.size() > 1) {
      continue;
    }
    if (found) {
      return std::nullopt;
    }
    found = loop;
  }
  bool isPlain = dim.kind == DimMap::Kind::Product ||
                 (dim.kind == DimMap::Kind::Window && dim.stride == 1 &&
                  dim.lo == 0 && dim.reach == 0);
  return isPlain ? found : std::nullopt;
}

static Status refuse(Operation &op, const std::string &why) {
  return makeError(ExitCode::Unsupported, "node '", nn::nodeName(op.getLoc()),
                   "' (", op.getName().getStringRef().str(), "): ", why,
                   ": only the run knows how many rows there are, and only "
                   "what is made of each row for itself can follow (experts "
                   "are exported without by "
                   "set_experts_implementation(\"batched_mm\"))");
}

/// Whether each of the `dim`th rows of `value` counts, as booleans that
/// broadcast to it.
static Value countsOf(OpBuilder &builder, const CountedRows &rows) {
  auto type = cast<RankedTensorType>(rows.value.getType());
  Location loc = rows.value.getLoc();
  int64_t extent = type.getDimSize(unsigned(rows.dim));
  SmallVector<int64_t> shape(size_t(type.getRank()), 1);
  shape[size_t(rows.dim)] = extent;
  auto places = RankedTensorType::get({extent}, builder.getI64Type());
  Value at = nn::IotaOp::create(builder, loc, places, int64_t(0));
  Value counts = nn::CompareOp::create(builder, loc, at, rows.count, "lt");
  return nn::ReshapeOp::create(builder, loc, counts, shape);
}

static Value integer(OpBuilder &builder, Location loc, Type element,
                     int64_t number) {
  auto type = RankedTensorType::get({}, element);
  return nn::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getIntegerAttr(element, number)));
}

/// Rows that do not count go to a row behind all others, which is left out:
///
///   scatter(x, at, u)  →  slice(scatter([x|0], counts ? at : rows of x, u))
Status RowFollower::scatter(nn::ScatterOp op) {
  const CountedRows *at = rowsOf(op.getIndices());
  const CountedRows *updates = rowsOf(op.getUpdates());
  bool isOne =
      at && !rowsOf(op.getInit()) &&
      (!updates || (updates->dim == at->dim && updates->count == at->count));
  if (!isOne || at->dim < int64_t(op.getBatchDims())) {
    return refuse(*op, "it writes rows of several kinds");
  }
  builder_.setInsertionPoint(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getInit().getType());
  size_t dim = op.getBatchDims(), rank = size_t(type.getRank());
  int64_t extent = type.getDimSize(unsigned(dim));
  Type element = cast<RankedTensorType>(at->value.getType()).getElementType();
  // Negative ones count from the end, which is another one then.
  Value zero = integer(builder_, loc, element, 0);
  Value rows = integer(builder_, loc, element, extent);
  Value places = at->value;
  Value isBehind = nn::CompareOp::create(builder_, loc, places, zero, "lt");
  Value before = nn::AddOp::create(builder_, loc, places, rows);
  places = nn::SelectOp::create(builder_, loc, isBehind, before, places);
  places = nn::SelectOp::create(builder_, loc, countsOf(builder_, *at), places,
                                rows);
  SmallVector<int64_t> none(rank, 0), more(rank, 0), ones(rank, 1);
  more[dim] = 1;
  Value init = nn::PadOp::create(builder_, loc, op.getInit(), none, more, 0.0);
  Value all = nn::ScatterOp::create(
      builder_, loc, init, places, op.getUpdates(), int64_t(dim), op.getKind());
  Value kept =
      nn::SliceOp::create(builder_, loc, all, none, type.getShape(), ones);
  op.replaceAllUsesWith(kept);
  replaced_[op.getResult()] = kept;
  return Status();
}

/// What `op` makes of counted rows has as many.
Status RowFollower::follow(Operation &op) {
  if (auto written = dyn_cast<nn::ScatterOp>(op);
      written && rowsOf(written.getIndices())) {
    return scatter(written);
  }
  for (OpOperand &operand : op.getOpOperands()) {
    const CountedRows *rows = rowsOf(operand.get());
    if (!rows || op.hasTrait<OpTrait::IsTerminator>()) {
      continue;
    }
    auto loops = dyn_cast<nn::LoopInterface>(op);
    if (!loops) {
      return refuse(op, "it takes rows into a branch or a loop");
    }
    LoopNest nest = loops.getLoopNest();
    const TensorMap &map = nest.operands[operand.getOperandNumber()];
    std::optional<LoopId> loop = loopOf(nest, map.dims[size_t(rows->dim)]);
    if (!loop || nest.loop(*loop).kind != LoopKind::Parallel) {
      return refuse(op, "it combines rows, or chooses among them");
    }
    CountedRows made = *rows; // the map may grow
    for (OpResult result : op.getResults()) {
      std::optional<int64_t> at;
      for (auto [dim, of] :
           llvm::enumerate(nest.results[result.getResultNumber()].dims)) {
        if (of.mentions(*loop)) {
          at = loopOf(nest, of) == loop ? std::optional(int64_t(dim))
                                        : std::nullopt;
          if (!at) {
            return refuse(op, "it joins rows with other dims");
          }
        }
      }
      if (!at) {
        return refuse(op, "it combines rows");
      }
      auto [known, isNew] =
          rows_.try_emplace(result, CountedRows{result, *at, made.count});
      if (!isNew &&
          (known->second.dim != *at || known->second.count != made.count)) {
        return refuse(op, "it takes rows of two kinds");
      }
    }
  }
  return Status();
}

/// `rows.value` with zeros behind the rows that count.
static Value zeroRest(OpBuilder &builder, const CountedRows &rows) {
  auto type = cast<RankedTensorType>(rows.value.getType());
  Location loc = rows.value.getLoc();
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = nn::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(scalar,
                             builder.getZeroAttr(type.getElementType())));
  return nn::SelectOp::create(builder, loc, countsOf(builder, rows), rows.value,
                              zero);
}

Status divisi::countRows(OpBuilder &builder, ArrayRef<CountedRows> rows,
                         std::vector<Value> &values,
                         std::vector<std::string> &names) {
  if (rows.empty()) {
    return Status();
  }
  RowFollower follower(builder, rows);
  for (Operation &op : llvm::make_early_inc_range(*builder.getBlock())) {
    if (Status status = follower.follow(op); !status.isOk()) {
      return status;
    }
  }
  builder.setInsertionPointToEnd(builder.getBlock());
  for (size_t i = 0, end = values.size(); i != end; ++i) {
    values[i] = follower.now(values[i]);
    if (const CountedRows *counted = follower.rowsOf(values[i])) {
      values[i] = zeroRest(builder, *counted);
      values.push_back(counted->count);
      names.push_back(names[i] + ".count");
    }
  }
  return Status();
}
