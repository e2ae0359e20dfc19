//===- IndexRules.cpp - Gradients of what data addresses ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "dialects/NN/Random.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// `permutation` with the inverse beside it.
static SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> back(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation)) {
    back[from] = int64_t(to);
  }
  return back;
}

/// The dims [begin, end), in order.
static void appendRange(SmallVector<int64_t> &dims, int64_t begin,
                        int64_t end) {
  for (int64_t dim = begin; dim < end; ++dim) {
    dims.push_back(dim);
  }
}

/// Rows are added where they came from, the table's dims in the order of
/// nn.scatter: batch, rows, what comes before the axis, what comes behind.
static LogicalResult deriveGather(nn::GatherOp op, GradientBuilder &b) {
  Value data = op.getData(), indices = op.getIndices();
  int64_t rank = int64_t(shapeOf(data).size());
  int64_t axis = op.getAxis(), batch = op.getBatchDims();
  int64_t extra = int64_t(shapeOf(indices).size()) - batch;
  b.give(0, [&] {
    SmallVector<int64_t> table, rows, shape;
    appendRange(table, 0, batch);
    table.push_back(axis);
    appendRange(table, batch, axis);
    appendRange(table, axis + 1, rank);
    appendRange(rows, 0, batch);
    appendRange(rows, axis, axis + extra);
    appendRange(rows, batch, axis);
    appendRange(rows, axis + extra, rank - 1 + extra);
    for (int64_t dim : table) {
      shape.push_back(shapeOf(data)[dim]);
    }
    Value sum =
        b.emit<nn::ScatterOp>(b.zeros(shape, elementOf(b.gradient())), indices,
                              b.transpose(b.gradient(), rows), batch, "add");
    return b.transpose(sum, inverse(table));
  });
  return success();
}

/// All dims but the axis are common to data and indices.
static LogicalResult deriveTakeAlong(nn::TakeAlongOp op, GradientBuilder &b) {
  int64_t rank = int64_t(shapeOf(op.getData()).size()), axis = op.getAxis();
  SmallVector<int64_t> order, shape;
  appendRange(order, 0, axis);
  appendRange(order, axis + 1, rank);
  order.push_back(axis);
  for (int64_t dim : order) {
    shape.push_back(shapeOf(op.getData())[dim]);
  }
  b.give(0, [&] {
    Value sum = b.emit<nn::ScatterOp>(b.zeros(shape, elementOf(b.gradient())),
                                      b.transpose(op.getIndices(), order),
                                      b.transpose(b.gradient(), order),
                                      rank - 1, "add");
    return b.transpose(sum, inverse(order));
  });
  return success();
}

/// Where the slice begins, from which places are counted.
static Value offsetOf(nn::InsertOp op, GradientBuilder &b) {
  Value offset = op.getOffset();
  int64_t axis = op.getAxis();
  int64_t places = shapeOf(op.getX())[axis] - shapeOf(op.getSlice())[axis] + 1;
  Value zero = b.zeros({}, elementOf(offset));
  return b.emit<nn::SelectOp>(b.compare("lt", offset, zero),
                              b.add(offset, double(places)), offset);
}

/// The slice takes the gradient of its place, and the tensor the rest; in this
/// order a loop that carries the gradient can write the rest over it.
static LogicalResult deriveInsert(nn::InsertOp op, GradientBuilder &b) {
  Value dy = b.gradient(), slice = op.getSlice(), offset = op.getOffset();
  int64_t axis = op.getAxis();
  b.give(1, [&] {
    auto type =
        RankedTensorType::get({shapeOf(slice)[axis]}, elementOf(offset));
    Value places = b.add(b.emit<nn::IotaOp>(type, int64_t(0)), offsetOf(op, b));
    return b.emit<nn::GatherOp>(dy, places, axis, int64_t(0));
  });
  b.give(0, [&] {
    Value none = b.zeros(shapeOf(slice), elementOf(dy));
    return b.emit<nn::InsertOp>(dy, none, offset, axis);
  });
  return success();
}

/// Rows that were set take the gradient from those that were there; of several
/// for one row each takes it, as the model has to set each once.
static LogicalResult deriveScatter(nn::ScatterOp op, GradientBuilder &b) {
  if (op.getKind() != "set" && op.getKind() != "add") {
    return op.emitOpError() << "of kind \"" << op.getKind()
                            << "\" has no gradient; set and add have one";
  }
  Value dy = b.gradient(), updates = op.getUpdates();
  int64_t batch = op.getBatchDims();
  b.give(0, [&]() -> Value {
    if (op.getKind() == "add") {
      return dy;
    }
    Value none = b.zeros(shapeOf(updates), elementOf(dy));
    return b.emit<nn::ScatterOp>(dy, op.getIndices(), none, batch, "set");
  });
  b.give(2, [&] {
    return b.emit<nn::GatherOp>(dy, op.getIndices(), batch, batch);
  });
  return success();
}

/// The table transposed: by element of the operand, what reads it.
static LogicalResult deriveResample(nn::ResampleOp op, GradientBuilder &b) {
  int64_t extent = shapeOf(op.getX())[op.getAxis()], taps = op.getTaps();
  std::vector<SmallVector<std::pair<int64_t, double>>> readers(extent);
  size_t most = 1;
  for (auto [at, index] : llvm::enumerate(op.getIndices())) {
    readers[index].emplace_back(int64_t(at) / taps, op.getWeights()[at]);
    most = std::max(most, readers[index].size());
  }
  SmallVector<int64_t> indices;
  SmallVector<double> weights;
  for (auto &reader : readers) {
    reader.resize(most, {reader.empty() ? 0 : reader.front().first, 0.0});
    for (auto [index, weight] : reader) {
      indices.push_back(index);
      weights.push_back(weight);
    }
  }
  b.give(0, [&]() -> Value {
    if (op.getIndices().empty()) {
      return b.zeros(shapeOf(op.getX()), elementOf(op.getX()));
    }
    return b.emit<nn::ResampleOp>(b.gradient(), op.getAxis(), int64_t(most),
                                  indices, weights);
  });
  return success();
}

void autodiff::attachIndexRules(MLIRContext &context) {
  attach<nn::GatherOp, deriveGather>(context);
  attach<nn::TakeAlongOp, deriveTakeAlong>(context);
  attach<nn::InsertOp, deriveInsert>(context);
  attach<nn::ScatterOp, deriveScatter>(context);
  attach<nn::ResampleOp, deriveResample>(context);
  attachZero<nn::IotaOp, nn::ConstantOp, nn::ReadOp, nn::RandomOp>(context);
}
