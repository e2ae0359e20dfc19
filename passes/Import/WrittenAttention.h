//===- WrittenAttention.h - Attention as exporters write it -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_IMPORT_WRITTENATTENTION_H
#define DIVISI_PASSES_IMPORT_WRITTENATTENTION_H

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Replacement.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>

namespace divisi {

/// A tensor, and a letter for each of its dimensions.
struct Lettered {
  mlir::Value value;   ///< The tensor.
  std::string letters; ///< As many as it has dimensions.
};

/// What is done to products that is not to attend some of them.
enum class MaskKind : uint8_t {
  Added,   ///< Numbers are added.
  Chosen,  ///< Booleans choose products, or one number in their place.
  Bounded, ///< What is less than one number becomes that.
};

/// What products are masked with, as it broadcasts to them.
struct WrittenMask {
  MaskKind kind = MaskKind::Added; ///< Which of these count.
  mlir::Value value;     ///< The numbers or booleans; null for a bound.
  ExactNumber times;     ///< What the numbers are multiplied by.
  double other = 0;      ///< The one number.
  bool isTurned = false; ///< Booleans choose it, not the products.
};

/// One attention as it is written out.
struct WrittenAttention {
  Lettered q, k, v, y; ///< Queries, keys, values, and the result, of one type.
  std::string scores;  ///< The letters of the products; keys are last.
  mlir::SmallVector<WrittenMask> masks; ///< The last one comes first.
  /// What products are multiplied by that is one number for all keys of a
  /// query, as it broadcasts to them.
  mlir::SmallVector<mlir::Value> rows;
  /// The element types of what is between the products.
  llvm::SmallSetVector<mlir::Type, 2> types;
  ExactNumber scale;    ///< What products are multiplied by.
  double softcap = 0;   ///< Of c * tanh(x / c); 0 is none.
  bool makesNan = true; ///< Of a row of nothing but -inf.
};

/// The attention whose last product `second` is, with its weights on that side.
std::optional<WrittenAttention> matchAttention(nn::MatmulOp second,
                                               bool isLeft);

/// Takes numbers that multiply queries or keys into the scale, and widening
/// casts to what they are in the type of `element`.
void takeFactors(WrittenAttention &written, mlir::Type element);

/// All its masks as one for `nn.attention`, made by `builder`; null if it has
/// none. Tells `replacement` what these masks are, and which numbers are exact.
mlir::Value joinMasks(mlir::OpBuilder &builder, mlir::Location location,
                      const WrittenAttention &written,
                      Replacement &replacement);

} // namespace divisi

#endif // DIVISI_PASSES_IMPORT_WRITTENATTENTION_H
