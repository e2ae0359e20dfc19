//===- Keeper.cpp - The rules that are kept -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Generate/Keeper.h"

#include "divisi/Rewrite/RuleText.h"
#include "lib/Rewrite/Generate/Summary.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rewrite;

/// Of Z3's work for a question whether an equation is derived.
static constexpr unsigned kWork = 400000;

Keeper::Keeper(const std::vector<Rule> &axioms, Instantiator &instantiator)
    : instantiator_(instantiator),
      axioms_(symbolicAxioms(axioms, {}, instantiator)) {}

/// Which of `questions` follow from `given`.
static std::vector<bool> areProved(const std::vector<Obligations> &questions,
                                   const std::vector<SymbolicRule> &given,
                                   unsigned work) {
  std::vector<bool> result;
  auto usable = [&](const Obligations &rule) {
    return usableAxioms(given, {rule});
  };
  ProofLimits limits;
  limits.work = work;
  proveInChild({}, usable, questions, limits, [&](const ProofResult &proof) {
    result.push_back(proof.isProved);
  });
  return result;
}

std::vector<SymbolicRule>
Keeper::said(const std::vector<bool> &isDropped) const {
  std::vector<SymbolicRule> result;
  for (size_t i = 0; i != kept_.size(); ++i) {
    if (i >= isDropped.size() || !isDropped[i]) {
      result.insert(result.end(), kept_[i].says.begin(), kept_[i].says.end());
    }
  }
  return result;
}

std::vector<bool>
Keeper::areDerived(const std::vector<Obligations> &questions) const {
  return areProved(questions, said({}), kWork);
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

/// Whether the rule passes the gates that try it; finds its class.
static bool passes(Rule &rule, Instantiator &instantiator) {
  if (tryRule(rule, instantiator).refusal) {
    return false;
  }
  for (NumericClass numericClass :
       {NumericClass::BitExact, NumericClass::Reassociates,
        NumericClass::ChangesRange}) {
    rule.numericClass = numericClass;
    if (!tryFloats(rule, instantiator).refusal) {
      return true;
    }
  }
  return false;
}

/// Whether the rule is one: what is printed is read again.
static bool isReadable(const Rule &rule) {
  auto read = parseRules(printRule(rule), "generated");
  return read && printRules(*read) == printRule(rule);
}

/// The rule on its way, and whether it is proved; nothing if a gate refuses it.
std::optional<Kept> Keeper::finish(const Rule &rule, const Way &way) {
  Kept kept{onWay(rule, way), way.gain, false, 0, 0, {}};
  kept.rule.summary = summaryOf(kept.rule);
  if (!passes(kept.rule, instantiator_) || !isReadable(kept.rule)) {
    return std::nullopt;
  }
  kept.isProved = areProved({obligationsOf(kept.rule, instantiator_)}, axioms_,
                            kDefaultWork)[0];
  if (!kept.isProved) {
    kept.rule.open = "no axioms were found that say so";
  }
  kept.says = symbolicAxioms({kept.rule}, {}, instantiator_);
  return kept;
}

bool Keeper::keep(const Rule &narrow, const Rule &wide, size_t operators,
                  size_t counts) {
  auto way = bestWay(narrow, instantiator_);
  if (!way) {
    return false;
  }
  auto kept = finish(wide, *way);
  if (!kept || !kept->isProved) {
    auto other = finish(narrow, *way);
    if (other && (!kept || other->isProved)) {
      kept = std::move(other);
    }
  }
  if (!kept) {
    return false;
  }
  kept->operators = operators;
  kept->counts = counts;
  kept_.push_back(std::move(*kept));
  return true;
}

void Keeper::dropDerived(size_t first, std::vector<GenerateCounts> &counts) {
  std::vector<size_t> order;
  for (size_t i = first; i != kept_.size(); ++i) {
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return kept_[a].rule.variables.size() < kept_[b].rule.variables.size();
  });
  std::vector<bool> isDropped(kept_.size(), false);
  for (size_t at : order) {
    isDropped[at] = true;
    Obligations question = obligationsOf(kept_[at].rule, instantiator_);
    isDropped[at] = areProved({question}, said(isDropped), kWork)[0];
  }
  std::vector<Kept> rest;
  for (size_t i = 0; i != kept_.size(); ++i) {
    GenerateCounts &of = counts[kept_[i].counts];
    if (isDropped[i]) {
      --of.kept;
      ++of.derived;
    } else {
      rest.push_back(std::move(kept_[i]));
    }
  }
  kept_ = std::move(rest);
}
