//===- NaryForms.h - Operators of any number of terms -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of n terms can be written in (2n - 3)!! ways, all of which rules that
// associate would make. Instead, all that matters is made at once: one form
// that says which terms there are, which is the same whatever it came from, and
// for each two terms one in which they are added first, where rules about sums
// of two match. So are products of numbers and of tensors element by element.
// A concatenation of concatenations is one, and of parts that follow each other
// it is what they are parts of.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_OPTIMIZE_NARYFORMS_H
#define DIVISI_LIB_OPTIMIZE_NARYFORMS_H

#include "lib/Optimize/EGraph.h"

#include <set>

namespace divisi::optimize {

/// Adds forms to one e-graph, each once.
class NaryForms {
public:
  /// Forms that follow from proved rules, where `rules` has these: that sums
  /// associate, that both parts of a tensor are it, and that parts of what is
  /// joined are what was.
  NaryForms(EGraph &graph, const std::vector<rewrite::ProvedRule> &rules);

  /// Whether the forms say all that the rule does.
  bool covers(size_t rule) const {
    return rule == sums_ || rule == products_ || rule == wholes_ ||
           rule == parts_;
  }
  /// Adds what is missing, until there are `most` nodes. Whether there was
  /// something. To be followed by EGraph::rebuild().
  bool grow(size_t most);

private:
  using Values = llvm::SmallVector<mlir::Value, 6>;

  void addTerms(mlir::Value value, llvm::StringRef name, Values &terms) const;
  template <typename Op> bool growSums(std::optional<size_t> rule);
  template <typename Op>
  mlir::Value chain(mlir::OpBuilder &builder, mlir::Location location,
                    llvm::ArrayRef<mlir::Value> terms,
                    rewrite::BuiltTarget &built);
  template <typename Op>
  void addForms(mlir::Operation *node, Values terms, size_t rule);
  template <typename Op> bool growMovement(bool (NaryForms::*grow)(Op));
  bool joinParts(nn::ConcatOp concat);
  bool takeParts(nn::SliceOp slice);
  bool take(rewrite::BuiltTarget built, mlir::Operation *node, size_t rule);

  EGraph &graph_;
  std::optional<size_t> sums_, products_, wholes_, parts_; ///< Rules.
  size_t most_ = 0;
  std::set<std::vector<const void *>> seen_; ///< Operators with their terms.
};

} // namespace divisi::optimize

#endif // DIVISI_LIB_OPTIMIZE_NARYFORMS_H
