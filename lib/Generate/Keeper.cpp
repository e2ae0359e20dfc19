//===- Keeper.cpp - The rules that are kept -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Keeper.h"

#include "divisi/Rules/RuleText.h"
#include "lib/Generate/Summary.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

/// Of Z3's work for a question whether an equation is derived.
static constexpr unsigned kWork = 100000;

/// Seconds for one, before its process is killed.
static constexpr double kSeconds = 120;

Keeper::Keeper(const std::vector<Rule> &axioms, Instantiator &instantiator)
    : instantiator_(instantiator), axioms_(axioms),
      definitions_(symbolicDefinitions(axioms, {}, instantiator)),
      prover_(std::make_unique<Prover>(kWork)) {}

/// Whether it is about tensors of no more dims than that.
static bool isWithin(const SymbolicRule &rule, size_t mostDims) {
  auto areFew = [&](const SymbolicDims &dims) {
    return dims.size() <= mostDims;
  };
  auto hasFew = [&](const SymbolicGraph &side) {
    return std::all_of(
        side.calls.begin(), side.calls.end(),
        [&](const SymbolicCall &call) { return areFew(call.dims); });
  };
  return std::all_of(rule.variables.begin(), rule.variables.end(), areFew) &&
         hasFew(rule.source) && hasFew(rule.target);
}

/// Believes those that are about tensors of no more dims than that.
static void believe(const std::vector<SymbolicRule> &rules, size_t mostDims,
                    Prover &prover) {
  for (const SymbolicRule &each : rules) {
    if (isWithin(each, mostDims)) {
      prover.believe(each);
    }
  }
  prover.prepare();
}

std::unique_ptr<Prover>
divisi::rewrite::proverFrom(const std::vector<SymbolicRule> &rules,
                            size_t mostDims, unsigned work) {
  auto prover = std::make_unique<Prover>(work);
  believe(rules, mostDims, *prover);
  return prover;
}

void Keeper::enter(size_t mostDims) {
  std::vector<SymbolicRule> all;
  for (const Kept &each : kept_) {
    all.insert(all.end(), each.says.begin(), each.says.end());
  }
  mostDims_ = mostDims;
  prover_ = proverFrom(all, mostDims, kWork);
}

void Keeper::add(Kept kept) {
  if (kept.says.empty()) {
    kept.says = symbolicAxioms({kept.rule}, {}, instantiator_);
  }
  for (SymbolicRule &each : kept.says) {
    each.name = "kept " + std::to_string(kept_.size());
  }
  believe(kept.says, mostDims_, *prover_);
  kept_.push_back(std::move(kept));
}

std::vector<bool>
Keeper::areDerived(const std::vector<Obligations> &questions) {
  std::vector<bool> result;
  ChildWork work{[] {},
                 [&](size_t i) { return proveAll(*prover_, questions[i]); }};
  answerInChild(
      questions.size(), work, kSeconds,
      [&](const ProofResult &proof) { result.push_back(proof.isProved); });
  return result;
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

/// Whether it is proved by elements, which is soon known: at the end axioms are
/// asked as well.
bool Keeper::isFollowed(const Rule &rule) {
  Obligations question = obligationsOf(rule, instantiator_);
  bool isProved = false;
  ChildWork work{[] {},
                 [&](size_t) { return followAll(definitions_, question); }};
  answerInChild(1, work, kSeconds,
                [&](const ProofResult &proof) { isProved = proof.isProved; });
  return isProved;
}

/// The rule on its way; nothing if a gate refuses it.
std::optional<Kept> Keeper::finish(const Rule &rule, const Way &way) {
  Kept kept{onWay(rule, way), way.gain, false, 0, 0, {}};
  kept.rule.summary = summaryOf(kept.rule);
  if (!passes(kept.rule, instantiator_) || !isReadable(kept.rule)) {
    return std::nullopt;
  }
  kept.says = symbolicAxioms({kept.rule}, {}, instantiator_);
  return kept.says.empty() ? std::nullopt : std::optional(std::move(kept));
}

bool Keeper::keep(const Rule &narrow, const Rule &wide, size_t operators,
                  size_t counts) {
  auto way = bestWay(narrow, instantiator_);
  if (!way) {
    return false;
  }
  auto kept = finish(wide, *way);
  bool isOneForm = printRule(narrow) == printRule(wide);
  if (!kept || (!isOneForm && !isFollowed(kept->rule))) {
    auto other = finish(narrow, *way);
    if (other && (!kept || isFollowed(other->rule))) {
      kept = std::move(other);
    }
  }
  if (!kept) {
    return false;
  }
  kept->operators = operators;
  kept->counts = counts;
  add(std::move(*kept));
  return true;
}

void Keeper::prove(size_t jobs) {
  std::vector<Rule> rules;
  std::vector<Obligations> questions;
  for (const Kept &each : kept_) {
    rules.push_back(each.rule);
    questions.push_back(obligationsOf(each.rule, instantiator_));
  }
  ProofLimits limits;
  limits.jobs = jobs;
  limits.byElements = true;
  size_t next = 0;
  proveRules(rules, questions, axioms_, limits, instantiator_,
             [&](const ProofResult &proof) {
               Kept &kept = kept_[next++];
               kept.isProved = proof.isProved;
               if (!kept.isProved && proof.weaker) {
                 // Samples showed no difference that there is.
                 kept.rule.numericClass = proof.weaker;
                 kept.isProved = true;
               }
               if (!kept.isProved) {
                 kept.rule.open = "no axioms were found that say so";
               }
             });
}

/// What those say that are not dropped, but for number `but`.
static std::vector<SymbolicRule>
saidByOthers(const std::vector<Kept> &kept, size_t but,
             const std::vector<bool> &dropped) {
  std::vector<SymbolicRule> said;
  for (size_t i = 0; i != kept.size(); ++i) {
    if (i != but && !dropped[i]) {
      said.insert(said.end(), kept[i].says.begin(), kept[i].says.end());
    }
  }
  return said;
}

/// Whether a proof uses what is dropped.
static bool uses(const ProofResult &proof,
                 const std::set<std::string> &dropped) {
  return std::any_of(
      proof.axioms.begin(), proof.axioms.end(),
      [&](const std::string &axiom) { return dropped.contains(axiom); });
}

/// All are asked about at once, as if no other was dropped; again, and at once,
/// those whose proofs use one that then was. The first of these is decided, so
/// this ends; and what is dropped follows from what is not, for its proof uses
/// nothing that was dropped before.
void Keeper::dropDerived(size_t first, std::vector<GenerateCounts> &counts,
                         size_t jobs) {
  std::vector<size_t> left(kept_.size() - first);
  std::iota(left.begin(), left.end(), first);
  std::stable_sort(left.begin(), left.end(), [&](size_t a, size_t b) {
    return kept_[a].rule.variables.size() < kept_[b].rule.variables.size();
  });
  std::vector<bool> isDropped(kept_.size(), false);
  while (!left.empty()) {
    std::vector<Obligations> questions;
    for (size_t at : left) {
      questions.push_back(obligationsOf(kept_[at].rule, instantiator_));
    }
    auto usable = [&](size_t number, size_t steps) {
      return usableAxioms(saidByOthers(kept_, left[number], isDropped),
                          {questions[number]}, steps);
    };
    std::vector<ProofResult> proofs;
    proveInChildren({}, usable, questions, {kWork, 0, kSeconds, jobs},
                    [&](const ProofResult &proof) { proofs.push_back(proof); });
    std::set<std::string> dropped;
    std::vector<size_t> again;
    for (size_t i = 0; i != left.size(); ++i) {
      if (proofs[i].isProved && uses(proofs[i], dropped)) {
        again.push_back(left[i]);
      } else if (proofs[i].isProved) {
        isDropped[left[i]] = true;
        dropped.insert(kept_[left[i]].says[0].name);
      }
    }
    left = std::move(again);
  }
  removeDropped(isDropped, counts);
}

void Keeper::removeDropped(const std::vector<bool> &isDropped,
                           std::vector<GenerateCounts> &counts) {
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
  for (size_t i = 0; i != kept_.size(); ++i) {
    for (SymbolicRule &each : kept_[i].says) {
      each.name = "kept " + std::to_string(i);
    }
  }
  enter(mostDims_);
}
