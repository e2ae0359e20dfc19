//===- Codes.h - What quantized tensors are made from -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_IMPORT_CODES_H
#define DIVISI_PASSES_IMPORT_CODES_H

#include "dialects/NN/NN.h"

#include <optional>

namespace divisi {

/// Integers of 8 bits, less a zero point, with a scale if they are numbers.
struct Codes {
  mlir::Value x;     ///< The integers.
  mlir::Value scale; ///< Null if they are no numbers.
  int64_t zero = 0;  ///< The zero point.
  mlir::Value zeroValue = {}; ///< If it is known only when it runs.
};

/// Its type.
mlir::RankedTensorType typeOf(mlir::Value value);

/// The attribute of a constant of equal elements; null for all else.
mlir::Attribute splatOf(mlir::Value value);

/// The number that all elements of a constant of integers are.
std::optional<int64_t> integerOf(mlir::Value value);

/// The number that all elements of a constant of floats are, written once.
std::optional<double> numberOf(mlir::Value value);

/// Whether elements are integers of 8 bits.
bool hasBytes(mlir::Value value);

/// What `value`, of f32, is dequantized from, if the zero point is known and one
/// for all.
std::optional<Codes> dequantizedCodes(mlir::Value value);

} // namespace divisi

#endif // DIVISI_PASSES_IMPORT_CODES_H
