//===- DimFactors.h - Which factors each dim is made of ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshape says that a dim of extent 64 is 8 heads of 8 elements. Operators
// pass that on: a loop ties the dims that it runs over, in all operands and
// results, and what is a product for one of them is a product for all.
//
//   %w: [64, 192]    %y = matmul %x, %w "mk,kn->mn": [128, 192]
//   %q = slice %y [.., 0:64]     %h = reshape %q: [8, 16, 64] → [8, 16, 8, 8]
//
// The last dim of %q is (8 8), so that of %y is (3 8 8), so the loop n and with
// it the last dim of %w are (3 8 8) as well.
//
// Demands that reach a dim which no operator can take apart (a window, the rows
// of a table, softmax's own axis) are dropped, and a reshape stays where the
// two disagree.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_UNFLATTEN_DIMFACTORS_H
#define DIVISI_LIB_UNFLATTEN_DIMFACTORS_H

#include "FactorClasses.h"

#include "dialects/NN/NN.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The factors of all dims of a module, from what its operators say of them.
class DimFactors final : public nn::Factors, private nn::DimTies {
public:
  /// For all functions of `module`, which share its globals. No value gets
  /// more dims than kernels take.
  explicit DimFactors(mlir::ModuleOp module);

  llvm::SmallVector<int64_t> of(mlir::Value value, unsigned dim) const override;
  using nn::Factors::shapeOf; ///< Of a value: the factors of all its dims.
  /// The factors of all dims of `global`, one after the other.
  llvm::SmallVector<int64_t> shapeOf(nn::GlobalOp global) const;
  /// Whether any dim has more than one factor.
  bool isRefined(mlir::Value value) const;

private:
  using Node = FactorClasses::Node;

  // What operators say.
  void tie(mlir::Value a, unsigned dimA, mlir::Value b, unsigned dimB) override;
  void keepWhole(mlir::Value value, unsigned dim) override;
  void tieLoops(mlir::Operation *op, bool splitsExchange) override;
  void cutOut(mlir::Value whole, unsigned dim, mlir::Value part, int64_t start,
              int64_t limit) override;
  void join(mlir::Value whole, unsigned dim, mlir::ValueRange parts) override;
  void tieGlobal(llvm::StringRef global, mlir::Value value) override;

  Node nodeOf(mlir::Value value, unsigned dim) const;
  void addValue(mlir::Value value);
  void pinAll(mlir::Operation *op);
  void addModule(mlir::ModuleOp module);
  void visit(mlir::Operation *op);
  void visitReshape(nn::ReshapeOp op);
  void visitMap(const DimMap &map, const LoopNest &nest,
                llvm::ArrayRef<Node> loops, Node node);
  /// Pins the values that have become too large; whether there are any.
  bool pinLarge();

  FactorClasses classes_;
  llvm::DenseMap<mlir::Value, Node> first_; ///< Looked up only.
  std::vector<mlir::Value> values_;         ///< In the order of the program.
  std::map<std::string, Node> globals_;
};

} // namespace divisi

#endif // DIVISI_LIB_UNFLATTEN_DIMFACTORS_H
