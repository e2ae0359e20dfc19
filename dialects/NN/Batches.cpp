//===- Batches.cpp - Micro-batches in one tensor --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Batches.h"

#include "dialects/NN/Locations.h"

using namespace mlir;
using namespace divisi;

bool nn::hasBatch(func::FuncOp entry, unsigned number) {
  auto type = cast<RankedTensorType>(entry.getArgumentTypes()[number]);
  return type.getRank() != 0 && !entry.getArgAttr(number, kSharedAttr);
}

std::optional<nn::BatchPart> nn::batchOf(SliceOp slice) {
  auto type = cast<RankedTensorType>(slice.getX().getType());
  if (type.getRank() == 0 || nodeName(slice.getLoc()) != kBatchNode) {
    return std::nullopt;
  }
  int64_t begin = slice.getStarts().front();
  int64_t extent = slice.getLimits().front() - begin,
          whole = type.getDimSize(0);
  if (extent <= 0 || begin % extent != 0 || whole % extent != 0) {
    return std::nullopt;
  }
  return BatchPart{begin / extent, whole / extent};
}

Location nn::batchLocation(Builder &builder) {
  return NameLoc::get(builder.getStringAttr(kBatchNode));
}

RankedTensorType nn::typeOfBatches(RankedTensorType one, int64_t count) {
  SmallVector<int64_t> shape(one.getShape());
  if (!shape.empty()) {
    shape.front() *= count;
  }
  return one.clone(shape);
}

nn::SliceOp nn::sliceBatch(OpBuilder &builder, Value whole, int64_t count,
                           int64_t number) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> limits(type.getShape());
  SmallVector<int64_t> starts(limits.size()), steps(limits.size(), 1);
  int64_t extent = limits.front() / count;
  starts.front() = number * extent;
  limits.front() = (number + 1) * extent;
  return SliceOp::create(builder, batchLocation(builder), whole, starts, limits,
                         steps);
}

bool nn::isZeros(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || !elements.isSplat()) {
    return false;
  }
  if (isa<FloatType>(elements.getElementType())) {
    return elements.getSplatValue<APFloat>().isPosZero();
  }
  return isa<IntegerType>(elements.getElementType()) &&
         elements.getSplatValue<APInt>().isZero();
}
