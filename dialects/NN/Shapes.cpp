//===- Shapes.cpp - Global shapes and checks of attributes ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Shapes.h"

#include "dialects/NN/NN.h"
#include "divisi/Support/ElementBytes.h"

using namespace mlir;

namespace divisi::nn {

ArrayRef<int64_t> globalShape(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (auto box =
          dyn_cast_if_present<GlobalShapeAttrInterface>(tensor.getEncoding())) {
    return box.getGlobalShape();
  }
  return tensor.getShape();
}

RankedTensorType globalType(Type type) {
  return RankedTensorType::get(globalShape(type),
                               cast<RankedTensorType>(type).getElementType());
}

bool hasSums(Type element) {
  unsigned least = isa<FloatType>(element) ? 16 : 8;
  return !element.isIntOrFloat() || element.getIntOrFloatBitWidth() >= least;
}

bool isValueOf(ShapedType value, RankedTensorType type) {
  Type given = value.getElementType(), wanted = type.getElementType();
  bool hasImages = isa<FieldType>(wanted) && given.isIntOrFloat();
  return value.getShape() == type.getShape() && (given == wanted || hasImages);
}

int64_t elementBits(Type element) {
  return element.isIntOrFloat() ? storedBits(element.getIntOrFloatBitWidth())
                                : 64;
}

std::optional<int64_t> byteCount(RankedTensorType type) {
  std::optional<int64_t> count = checkedProduct(type.getShape());
  return count ? storedBytes(*count, elementBits(type.getElementType()))
               : std::nullopt;
}

FailureOr<RankedTensorType> makeType(ArrayRef<int64_t> shape, Type element,
                                     EmitError emitError) {
  if (!RankedTensorType::isValidElementType(element)) {
    return emitError() << "no tensor has elements of type " << element;
  }
  for (int64_t extent : shape) {
    if (extent < 0) {
      return emitError() << "no tensor has an extent of " << extent;
    }
  }
  auto type = RankedTensorType::get(shape, element);
  if (!byteCount(type)) {
    return emitError() << "a tensor of type " << type
                       << " has more bytes than an int64 can count";
  }
  return type;
}

FailureOr<RankedTensorType> inferElementwise(ValueRange operands, Type element,
                                             EmitError emitError) {
  SmallVector<int64_t> shape;
  for (Value operand : operands) {
    ArrayRef<int64_t> own = globalShape(operand.getType());
    if (own.size() > shape.size()) {
      shape.insert(shape.begin(), own.size() - shape.size(), 1);
    }
    size_t lead = shape.size() - own.size();
    for (auto [dim, extent] : llvm::enumerate(own)) {
      int64_t &result = shape[lead + dim];
      if (result != extent && result != 1 && extent != 1) { // C1
        return emitError() << "cannot broadcast " << operand.getType()
                           << " together with the operands before it: extent "
                           << extent << " meets extent " << result;
      }
      result = result == 1 ? extent : result;
    }
  }
  return makeType(shape, element, emitError);
}

LogicalResult checkAxis(int64_t axis, int64_t rank, EmitError emitError) {
  if (axis < 0 || axis >= rank) {
    return emitError() << "axis " << axis
                       << " is not a dimension of a tensor of "
                       << "rank " << rank;
  }
  return success();
}

LogicalResult checkAxes(ArrayRef<int64_t> axes, int64_t rank, StringRef name,
                        EmitError emitError) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis <= last || axis >= rank) {
      return emitError() << "'" << name << "' holds " << axis
                         << ", expected dimensions below " << rank
                         << " in ascending order";
    }
    last = axis;
  }
  return success();
}

LogicalResult checkLength(StringRef name, ArrayRef<int64_t> values,
                          int64_t rank, EmitError emitError) {
  if (static_cast<int64_t>(values.size()) != rank) {
    return emitError() << "'" << name << "' has " << values.size()
                       << " entries, expected " << rank;
  }
  return success();
}

Type accumulatorType(Type element) {
  if (element.isF16() || element.isBF16()) {
    return Float32Type::get(element.getContext());
  }
  bool isShort = element.isInteger() && !element.isInteger(1) &&
                 element.getIntOrFloatBitWidth() < 32;
  return isShort ? IntegerType::get(element.getContext(), 32) : element;
}

LogicalResult verifyResultType(Operation *op, RankedTensorType expected) {
  RankedTensorType type = globalType(op->getResult(0).getType());
  if (type != expected) {
    return op->emitOpError()
           << "has a result of type " << type << ", expected " << expected;
  }
  return success();
}

LogicalResult verifyCountable(Operation *op) {
  auto check = [&](Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.hasStaticShape() && !byteCount(globalType(tensor))) {
      return op->emitOpError()
             << "uses a tensor of type " << tensor
             << ", which has more bytes than an int64 can count";
    }
    return success();
  };
  for (Type type : op->getOperandTypes()) {
    if (failed(check(type))) {
      return failure();
    }
  }
  for (Type type : op->getResultTypes()) {
    if (failed(check(type))) {
      return failure();
    }
  }
  return success();
}

} // namespace divisi::nn
