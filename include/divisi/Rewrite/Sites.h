//===- Sites.h - Where rules may be applied ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a search asks: all places where rules may be applied, whatever their
// targets take there, and the program in which one of them has been.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REWRITE_SITES_H
#define DIVISI_REWRITE_SITES_H

#include "divisi/Rewrite/Definitions.h"
#include "divisi/Rules/Assignment.h"
#include "divisi/Rules/ElementTypes.h"
#include "divisi/Rules/ProofRecord.h"
#include "divisi/Support/Status.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace divisi::nn {
class KnownValues;
} // namespace divisi::nn

namespace divisi::rewrite {

/// A place in a function, which means the same place in copies of it.
struct RuleSite {
  size_t rule = 0;   ///< Which of the rules.
  size_t root = 0;   ///< The operator that is its source's first sink.
  size_t number = 0; ///< Which of its places that end there.
};

/// A match among operators, and what the target is there.
struct ClassSite {
  std::vector<mlir::Operation *> nodes; ///< Of the source, in its order.
  std::vector<mlir::Value> variables;   ///< In the order of the rule.
  std::vector<mlir::Value> results;     ///< Of the source.
  Assignment assignment;                ///< Of the names of the rule.
  TypeChoice types;                     ///< The same.
};

/// A target that was built.
struct BuiltTarget {
  std::vector<mlir::Operation *> operators; ///< In order.
  std::vector<mlir::Value> results;         ///< One for each of the source.
};

/// Finds places of some rules.
class SiteFinder {
public:
  /// Rules without choices of operators. Operators of axioms that say so
  /// commute. Both outlive this.
  SiteFinder(const std::vector<ProvedRule> &rules,
             const std::vector<Rule> &axioms);
  ~SiteFinder();

  /// All places in `function` where a rule may be applied, in the order of
  /// the function and of the rules. A match that differs from another only by
  /// the order of operands that commute is a place of its own.
  std::vector<RuleSite> find(mlir::func::FuncOp function,
                             const nn::KnownValues &known);

  /// Applies a rule at one of the places that find() gives of `function`.
  /// Returns where the results of its target are. Fails with Invalid where it
  /// has no such place.
  Expected<std::vector<mlir::Location>> apply(mlir::func::FuncOp function,
                                              const nn::KnownValues &known,
                                              RuleSite site);

  /// Nodes and variables of a match.
  using Look = llvm::function_ref<bool(llvm::ArrayRef<mlir::Operation *>,
                                       llvm::ArrayRef<mlir::Value>)>;
  /// Gives `visit` what `rule` matches among `definitions` from `root`, until
  /// it returns true; whether it did. `isNew` says whether to look further at a
  /// match.
  bool findIn(const Definitions &definitions, const nn::KnownValues &known,
              size_t rule, mlir::Operation *root, Look isNew,
              llvm::function_ref<bool(ClassSite)> visit);
  /// What any proved rule is at these nodes and variables; nothing where it may
  /// not be applied.
  std::optional<ClassSite> at(const ProvedRule &rule,
                              const nn::KnownValues &known,
                              std::vector<mlir::Operation *> nodes,
                              std::vector<mlir::Value> variables);
  /// Builds the target of the rule that `site` is of where `builder` stands.
  static Expected<BuiltTarget> build(mlir::OpBuilder &builder,
                                     mlir::Location location, const Rule &rule,
                                     const ClassSite &site);
  /// The name of the operator that is the first sink of the rule's source.
  std::string rootOf(size_t rule) const;
  /// Operators of nn whose two operands commute.
  const std::set<std::string> &commutative() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace divisi::rewrite

#endif // DIVISI_REWRITE_SITES_H
