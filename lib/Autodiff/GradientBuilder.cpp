//===- GradientBuilder.cpp - What a rule makes gradients with -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

#include "lib/Autodiff/GradientInterface.cpp.inc"

ArrayRef<int64_t> autodiff::shapeOf(Value value) {
  return nn::globalShape(value.getType());
}

Type autodiff::elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

std::optional<double> autodiff::constantOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements =
      constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || !isa<FloatType>(elements.getElementType())) {
    return std::nullopt;
  }
  return elements.getSplatValue<FloatAttr>().getValueAsDouble();
}

/// Where a gradient of `op` is: at its node, of whose name it makes one.
static Location locationOf(Operation *op) {
  std::string name = nn::nodeName(op->getLoc());
  return name.empty() || StringRef(name).ends_with(nn::kGradientSuffix)
             ? op->getLoc()
             : NameLoc::get(StringAttr::get(op->getContext(),
                                            name + nn::kGradientSuffix.str()));
}

GradientBuilder::GradientBuilder(OpBuilder &builder, Operation *op,
                                 Value gradient, SmallVector<bool> wanted)
    : builder_(builder), op_(op), location_(locationOf(op)),
      gradient_(gradient), wanted_(std::move(wanted)),
      results_(wanted_.size()) {}

Value GradientBuilder::fit(Value value, unsigned operand) {
  Value of = op_->getOperand(operand);
  return cast(sumTo(value, shapeOf(of)), elementOf(of));
}

void GradientBuilder::take(Block &block, ArrayRef<Value> values) {
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), values)) {
    argument.replaceAllUsesWith(value);
  }
  builder_.getBlock()->getOperations().splice(builder_.getInsertionPoint(),
                                              block.getOperations());
}

/// In the field, numbers are written as f64.
Value GradientBuilder::number(double value, Value like) {
  Type element = elementOf(like);
  bool isField = isa<nn::FieldType>(element);
  Type written = isField ? builder_.getF64Type() : element;
  auto type = RankedTensorType::get({}, written);
  TypedAttr attribute =
      isa<FloatType>(written)
          ? TypedAttr(builder_.getFloatAttr(written, value))
          : TypedAttr(builder_.getIntegerAttr(written, int64_t(value)));
  auto elements = DenseElementsAttr::get(type, attribute);
  return emit<nn::ConstantOp>(RankedTensorType::get({}, element), elements);
}

Value GradientBuilder::zeros(ArrayRef<int64_t> shape, Type element) {
  auto type = RankedTensorType::get({}, element);
  Value zero = emit<nn::ConstantOp>(
      type, DenseElementsAttr::get(type, builder_.getZeroAttr(element)));
  return shape.empty()
             ? zero
             : emit<nn::BroadcastOp>(zero, shape, ArrayRef<int64_t>());
}

Value GradientBuilder::keepWhere(Value condition, Value x) {
  return emit<nn::SelectOp>(condition, x, number(0, x));
}

Value GradientBuilder::dropWhere(Value condition, Value x) {
  return emit<nn::SelectOp>(condition, number(0, x), x);
}

Value GradientBuilder::cast(Value x, Type element) {
  return elementOf(x) == element ? x : emit<nn::CastOp>(x, element);
}

/// Partial sums of narrow floats are not rounded.
Value GradientBuilder::sum(Value x, ArrayRef<int64_t> axes) {
  if (axes.empty()) {
    return x;
  }
  SmallVector<int64_t> shape;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(x))) {
    if (!llvm::is_contained(axes, int64_t(dim))) {
      shape.push_back(extent);
    }
  }
  auto type = RankedTensorType::get(shape, nn::accumulatorType(elementOf(x)));
  return cast(emit<nn::ReduceOp>(type, x, "sum", axes), elementOf(x));
}

Value GradientBuilder::insertDims(Value x, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(shapeOf(x));
  for (int64_t axis : axes) {
    shape.insert(shape.begin() + axis, 1);
  }
  return reshape(x, shape);
}

Value GradientBuilder::sumKept(Value x, ArrayRef<int64_t> axes) {
  return insertDims(sum(x, axes), axes);
}

Value GradientBuilder::meanKept(Value x, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes) {
    count *= shapeOf(x)[axis];
  }
  return div(sumKept(x, axes), double(count));
}

Value GradientBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  return shapeOf(x) == shape ? x : emit<nn::ReshapeOp>(x, shape);
}

Value GradientBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation) ? x
                                      : emit<nn::TransposeOp>(x, permutation);
}

Value GradientBuilder::matmul(Value a, Value b, const std::string &labels) {
  Type narrow = elementOf(a).getIntOrFloatBitWidth() <
                        elementOf(b).getIntOrFloatBitWidth()
                    ? elementOf(a)
                    : elementOf(b);
  nn::MatmulOp inferred = nn::MatmulOp::create(
      builder_, location_, cast(a, narrow), cast(b, narrow), labels);
  nn::copyScope(op_, inferred);
  auto type = mlir::cast<RankedTensorType>(inferred.getType());
  inferred.getResult().setType(
      type.clone(nn::accumulatorType(type.getElementType())));
  return inferred;
}

Value GradientBuilder::pad(Value x, ArrayRef<int64_t> lo, ArrayRef<int64_t> hi,
                           double value) {
  auto isZero = [](int64_t width) { return width == 0; };
  return llvm::all_of(lo, isZero) && llvm::all_of(hi, isZero)
             ? x
             : emit<nn::PadOp>(x, lo, hi, value);
}

/// An element and what lies between it and the next are one dim: [n] becomes
/// [n, 1], [n, step], [n * step].
Value GradientBuilder::unslice(Value x, ArrayRef<int64_t> starts,
                               ArrayRef<int64_t> steps,
                               ArrayRef<int64_t> shape) {
  SmallVector<int64_t> from(shapeOf(x)), spread, between, lo, hi;
  SmallVector<int64_t> reversed;
  bool isReversed = false, isSpread = false;
  SmallVector<int64_t> ends, limits, back, single, first(starts);
  for (auto [dim, step] : llvm::enumerate(steps)) {
    isReversed |= step < 0;
    isSpread |= std::abs(step) > 1;
    int64_t extent = from[dim];
    // Backwards is forwards from the last.
    if (step < 0) {
      first[dim] = extent == 0 ? 0 : starts[dim] + (extent - 1) * step;
    }
    ends.push_back(step < 0 && extent > 0 ? extent - 1 : 0);
    limits.push_back(step < 0 && extent > 0 ? -1 : extent);
    back.push_back(step < 0 && extent > 0 ? -1 : 1);
  }
  if (isReversed) {
    x = emit<nn::SliceOp>(x, ends, limits, back);
  }
  if (isSpread) {
    SmallVector<int64_t> none, gaps, merged;
    for (auto [extent, step] : llvm::zip_equal(from, steps)) {
      spread.append({extent, 1});
      none.append({0, 0});
      gaps.append({0, std::abs(step) - 1});
      merged.push_back(extent * std::abs(step));
    }
    x = reshape(pad(reshape(x, spread), none, gaps), merged);
  }
  for (size_t dim = 0; dim != shape.size(); ++dim) {
    lo.push_back(first[dim]);
    hi.push_back(shape[dim] - first[dim] - shapeOf(x)[dim]);
  }
  return pad(x, lo, hi);
}

Value GradientBuilder::sumTo(Value x, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = shapeOf(x);
  SmallVector<int64_t> axes;
  size_t missing = from.size() - shape.size();
  for (size_t dim = 0; dim != from.size(); ++dim) {
    if (dim < missing || (shape[dim - missing] == 1 && from[dim] != 1)) {
      axes.push_back(int64_t(dim));
    }
  }
  return reshape(sum(x, axes), shape);
}
