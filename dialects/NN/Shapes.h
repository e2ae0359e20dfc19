//===- Shapes.h - Global shapes, and how results get theirs -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor with an encoding that implements GlobalShapeAttrInterface is a box
// of a larger tensor. Operators keep their attributes on a box, so verifiers,
// inference and loops ask for global shapes:
//
//   tensor<2x8xf32, #spmd.local<..., 4x8>>   globalShape = [4, 8]
//   tensor<4x8xf32>                          globalShape = [4, 8]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_SHAPES_H
#define DIVISI_DIALECTS_NN_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/ValueRange.h"

namespace divisi::nn {

/// Begins an error at the operator in question.
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The shape of the whole tensor of which a value of `type` is a box. `type` is
/// a ranked tensor type.
llvm::ArrayRef<int64_t> globalShape(mlir::Type type);

/// The type of the whole tensor: globalShape, without an encoding.
mlir::RankedTensorType globalType(mlir::Type type);

/// Whether elements of that type add up: numbers do; booleans do not, nor does
/// what is stored only.
bool hasSums(mlir::Type element);

/// Whether a constant may be written as `value` and have `type`: the same, or
/// numbers for what is of the field, where they have exact images.
bool isValueOf(mlir::ShapedType value, mlir::RankedTensorType type);

/// The bits that an element of that type takes in memory: 64 for an index or
/// one of the field, else what divisi/Support/ElementBytes.h says.
int64_t elementBits(mlir::Type element);

/// The bytes of a tensor of `type` (divisi/Support/ElementBytes.h), or nothing
/// if an int64 cannot hold their number.
std::optional<int64_t> byteCount(mlir::RankedTensorType type);

/// What sums of many elements may be left in: f32 for f16 and bf16, i32 for
/// integers of 8 and 16 bits, else the type itself.
mlir::Type accumulatorType(mlir::Type element);

/// The tensor type of `shape` and `element`, or an error if a tensor of it has
/// more bytes than an int64 counts.
mlir::FailureOr<mlir::RankedTensorType> makeType(llvm::ArrayRef<int64_t> shape,
                                                 mlir::Type element,
                                                 EmitError emitError);

/// The NumPy broadcast of the operands' global shapes, or an error (C1).
mlir::FailureOr<mlir::RankedTensorType>
inferElementwise(mlir::ValueRange operands, mlir::Type element,
                 EmitError emitError);

/// An error unless `axis` is a dimension of a tensor of `rank`.
mlir::LogicalResult checkAxis(int64_t axis, int64_t rank, EmitError emitError);

/// An error unless `axes` are dimensions of a tensor of `rank`, ascending.
mlir::LogicalResult checkAxes(llvm::ArrayRef<int64_t> axes, int64_t rank,
                              llvm::StringRef name, EmitError emitError);

/// An error unless `values`, an attribute called `name`, has `rank` entries.
mlir::LogicalResult checkLength(llvm::StringRef name,
                                llvm::ArrayRef<int64_t> values, int64_t rank,
                                EmitError emitError);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_SHAPES_H
