//===- ElementProof.h - The proof of one rule by elements -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_ELEMENTPROOF_H
#define DIVISI_LIB_PROVE_ELEMENTS_ELEMENTPROOF_H

#include "divisi/Prove/ElementProver.h"
#include "lib/Prove/Elements/CaseSplits.h"
#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// What is known in one case.
struct ElementCase {
  Values symbols; ///< Of the rule, by name.
  std::vector<std::pair<Polynomial, Facts::Relation>> facts; ///< Of symbols.
  std::vector<Binder> indices;                               ///< Of the result.
  Index place;                                               ///< Made of these.
  bool isPlaced = false;   ///< They are known.
  bool isCompared = false; ///< A comparison was added, which may not hold.
};

/// What is to be proved in each case.
using Check = std::function<bool(SymbolicEvaluator &source,
                                 SymbolicEvaluator &target, ElementCase &at)>;

/// The proof of one rule.
class ElementProof {
public:
  /// Of `rule`, which outlives this, by those of `axioms` that define.
  ElementProof(const SymbolicRule &rule,
               const std::vector<SymbolicRule> &axioms)
      : rule_(rule) {
    for (const SymbolicRule &axiom : axioms) {
      if (axiom.isDefinition) {
        definitions_.emplace(axiom.source.calls.back().function, &axiom);
      }
    }
  }

  /// What proveByElements() says.
  Proof run();
  /// Whether the extent of a value on a side is that, wherever it is legal.
  bool isExtent(bool isSource, size_t value, size_t dim, const Expr &extent);

private:
  void addConditions(ElementCase &at);
  void addCondition(const Condition &condition, ElementCase &at);
  bool areEqualAt(size_t result, SymbolicEvaluator &source,
                  SymbolicEvaluator &target, ElementCase &at);
  bool holdsAt(const Check &check, ElementCase at, int depth);
  bool splitAt(const Check &check, const ElementCase &at,
               const Polynomial &condition, int depth);
  bool splitIndex(const Check &check, const ElementCase &at,
                  const SplitIndex &split, int depth);
  bool splitExtent(const Check &check, const ElementCase &at,
                   const Polynomial &extent, int depth);
  void believe(const ElementCase &at);
  bool haveOneShape(const Index &source, const Index &target);
  Polynomial integer(const Expr &expr, const ElementCase &at);

  const SymbolicRule &rule_;
  std::map<std::string, Sum> reals_;
  std::vector<OrderFact> orders_; ///< Of reals.
  std::string open_;              ///< What was last not shown.
  Facts facts_;
  std::multimap<std::string, const SymbolicRule *> definitions_;
  ElementContext context_{facts_, definitions_, {}};
  size_t cases_ = 0;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_ELEMENTPROOF_H
