//===- Factors.h - Dims that fall into factors ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What nn.UnflattenInterface speaks in. An operator says which of its dims go
// together (DimTies), is told the factors into which they fall (Factors), and
// answers how it reads on these (FactoredForm):
//
//   %y = nn.slice %x {starts = [0, 64], limits = [8, 128], ...}
//        the factors of dim 1 of %x being (3 64), of %y (64)
//   %y = nn.slice %x {starts = [0, 1, 0], limits = [8, 2, 64], ...}
//
// divisi/Unflatten/Unflatten.h is who asks.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_FACTORS_H
#define DIVISI_DIALECTS_NN_FACTORS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"

namespace divisi::nn {

/// Learns from operators what the dims of their operands and results have to do
/// with one another. What nobody speaks of is free.
class DimTies {
public:
  virtual ~DimTies() = default;

  /// The two dims have the same factors.
  virtual void tie(mlir::Value a, unsigned dimA, mlir::Value b,
                   unsigned dimB) = 0;
  /// No factor of the dim becomes a dim of its own.
  virtual void keepWhole(mlir::Value value, unsigned dim) = 0;
  /// The dims that one loop of `op`, an nn.LoopInterface, runs over have the
  /// same factors. Dims of other forms stay whole, and so do those over loops
  /// that cannot be several: an exchange is one, unless `splitsExchange`.
  virtual void tieLoops(mlir::Operation *op, bool splitsExchange = false) = 0;
  /// Dim `dim` of `part` is [start, limit) of that of `whole`.
  virtual void cutOut(mlir::Value whole, unsigned dim, mlir::Value part,
                      int64_t start, int64_t limit) = 0;
  /// Dim `dim` of `whole` is that of `parts`, one behind the other.
  virtual void join(mlir::Value whole, unsigned dim,
                    mlir::ValueRange parts) = 0;
  /// `value` has the dims of the global called `global`.
  virtual void tieGlobal(llvm::StringRef global, mlir::Value value) = 0;
};

/// Into which factors dims fall.
class Factors {
public:
  virtual ~Factors() = default;

  /// The factors of one dim, major first; the extent alone if it has none.
  virtual llvm::SmallVector<int64_t> of(mlir::Value value,
                                        unsigned dim) const = 0;

  /// The factors of all dims, one after the other.
  llvm::SmallVector<int64_t> shapeOf(mlir::Value value) const;
  /// Where the factors of `dim` begin in shapeOf(value).
  int64_t position(mlir::Value value, unsigned dim) const;
  /// The positions of all factors of `dims`.
  llvm::SmallVector<int64_t> positions(mlir::Value value,
                                       llvm::ArrayRef<int64_t> dims) const;
  /// `entries`, one for each dim of `value`, as one for each factor; those of
  /// dims with several factors say nothing, and become `idle`.
  llvm::SmallVector<int64_t> spread(mlir::Value value,
                                    llvm::ArrayRef<int64_t> entries,
                                    int64_t idle) const;
};

/// An operator on factors: reshaped operands, another result, and the
/// attributes that differ. What stays as it was is not mentioned.
struct FactoredForm {
  /// Extents, as of a type.
  using Shape = llvm::SmallVector<int64_t>;
  llvm::SmallVector<Shape> operands; ///< One per operand.
  Shape result;                      ///< Of the one result; else empty.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
};

/// The form of an operator whose operands broadcast to its result.
FactoredForm elementwiseForm(mlir::Operation *op, const Factors &factors);

/// Implements UnflattenInterface for operators on single elements.
template <typename OpT>
class ElementwiseFactors
    : public mlir::OpTrait::TraitBase<OpT, ElementwiseFactors> {
public:
  /// See UnflattenInterface.
  void tieDims(DimTies &ties) { ties.tieLoops(this->getOperation()); }
  /// See UnflattenInterface.
  std::optional<FactoredForm> getFactoredForm(const Factors &factors) {
    return elementwiseForm(this->getOperation(), factors);
  }
};

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_FACTORS_H
