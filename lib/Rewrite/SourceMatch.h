//===- SourceMatch.h - Matches of the source of a rule ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REWRITE_SOURCEMATCH_H
#define DIVISI_LIB_REWRITE_SOURCEMATCH_H

#include "divisi/Rewrite/Definitions.h"
#include "divisi/Rules/Rule.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// Operators that are connected as the source of a rule is. What their
/// attributes and types are is not yet looked at.
struct SourceMatch {
  std::vector<mlir::Operation *> nodes; ///< In the order of the source.
  std::vector<mlir::Value> variables;   ///< In the order of the rule.
};

/// The operators of two operands that some axiom says to commute.
std::set<std::string> commutativeOperators(const std::vector<Rule> &axioms);

/// Gives `visit` all matches of the source of `rule`, which has no choice of
/// operators, in one block, whose first sink (a node that no other reads) is
/// `root`, until it returns true; whether it did. Operands of `commutative`
/// operators match in both orders.
bool findSource(const Rule &rule, mlir::Operation *root,
                const std::set<std::string> &commutative,
                llvm::function_ref<bool(const SourceMatch &)> visit);

/// The same among the operators of `definitions`, of which `root` is one.
bool findSource(const Rule &rule, mlir::Operation *root,
                const Definitions &definitions,
                const std::set<std::string> &commutative,
                llvm::function_ref<bool(const SourceMatch &)> visit);

/// What all elements of a constant are, if they are equal numbers.
std::optional<double> splatElement(mlir::Operation *op);
/// Whether they are `element`, in the constant's own type.
bool isSplatOf(mlir::Operation *op, double element);

/// The operator of the first sink, without its dialect: `matmul`.
const std::string &rootOperator(const Rule &rule);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_REWRITE_SOURCEMATCH_H
