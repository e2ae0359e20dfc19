//===- Rounding.h - What narrow floats do to an operator --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator states in its definition what happens to its result if its floats
// have the few bits of bf16 or f16:
//
//   transpose  Moves         the result has the operand's elements
//   add        RoundsOnce    the sum is rounded, and nothing else
//   matmul     SumsProducts  narrow operands; the sum has an accumulator
//   reduce     SumsElements  operands of any type; the sum has an accumulator
//   exp        StaysWide     an error of the operand would grow, or nobody has
//                            shown that it does not
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_ROUNDING_H
#define DIVISI_DIALECTS_NN_ROUNDING_H

#include "mlir/IR/OpDefinition.h"

namespace divisi::nn {

/// What floats of few bits do to the result of an operator.
enum class Rounding : uint8_t {
  Moves,        ///< Nothing: each element is one of an operand's, but for its
                ///< sign.
  RoundsOnce,   ///< Each element comes of a few others, or of sums in which
                ///< nothing is rounded: only its own rounding is added.
  SumsProducts, ///< Products of narrow operands are summed in f32.
  SumsElements, ///< Elements of any type are summed in f32.
  StaysWide,    ///< Its floats stay as they are, which is never wrong.
};

/// RoundingInterface, of an operator with this answer whatever its attributes.
template <Rounding Kind> class RoundsAs {
public:
  /// What MLIR adds to the operator.
  template <typename OpT>
  class Impl
      : public mlir::OpTrait::TraitBase<OpT, RoundsAs<Kind>::template Impl> {
  public:
    /// See RoundingInterface.
    Rounding getRounding() { return Kind; }
  };
};

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_ROUNDING_H
