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
  explicit RowFollower(ArrayRef<CountedRows> rows) {
    for (const CountedRows &one : rows) {
      rows_.try_emplace(one.value, one);
    }
  }

  Status follow(Operation &op);
  const CountedRows *rowsOf(Value value) const {
    auto found = rows_.find(value);
    return found == rows_.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<Value, CountedRows> rows_;
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
                   "what is made of each row for itself can follow");
}

/// What `op` makes of counted rows has as many.
Status RowFollower::follow(Operation &op) {
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
  int64_t extent = type.getDimSize(unsigned(rows.dim));
  SmallVector<int64_t> shape(size_t(type.getRank()), 1);
  shape[size_t(rows.dim)] = extent;
  auto places = RankedTensorType::get({extent}, builder.getI64Type());
  Value at = nn::IotaOp::create(builder, loc, places, int64_t(0));
  Value counts = nn::CompareOp::create(builder, loc, at, rows.count, "lt");
  counts = nn::ReshapeOp::create(builder, loc, counts, shape);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = nn::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(scalar,
                             builder.getZeroAttr(type.getElementType())));
  return nn::SelectOp::create(builder, loc, counts, rows.value, zero);
}

Status divisi::countRows(OpBuilder &builder, ArrayRef<CountedRows> rows,
                         std::vector<Value> &values,
                         std::vector<std::string> &names) {
  if (rows.empty()) {
    return Status();
  }
  RowFollower follower(rows);
  for (Operation &op : *builder.getBlock()) {
    if (Status status = follower.follow(op); !status.isOk()) {
      return status;
    }
  }
  for (size_t i = 0, end = values.size(); i != end; ++i) {
    if (const CountedRows *counted = follower.rowsOf(values[i])) {
      values[i] = zeroRest(builder, *counted);
      values.push_back(counted->count);
      names.push_back(names[i] + ".count");
    }
  }
  return Status();
}
