//===- Check.cpp - Checking rules by all gates ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/Check.h"
#include "divisi/Prove/ElementProver.h"
#include "divisi/Prove/Parallel.h"
#include "divisi/Support/Clock.h"
#include "lib/Prove/LemmaAxioms.h"
#include "lib/Prove/ProvedRanks.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

using namespace divisi;
using namespace divisi::rewrite;

/// Of a rule that is tested, but not proved, at least so many instances, of so
/// many different sizes.
static constexpr size_t kLeastInstances = 20, kLeastShapes = 3;

/// As many instances of an axiom are evaluated for each ranks of its shapes.
static constexpr size_t kMostPerRanks = 81;

Obligations divisi::rewrite::obligationsOf(const Rule &rule,
                                           Instantiator &instantiator) {
  Obligations result;
  for (const Rule &each : withOperators(rule)) {
    for (const TypeBinding &binding : allTypeBindings(each, {})) {
      for (const Ranks &ranks : allRanks(each)) {
        if (auto made = makeSymbolic(each, ranks, binding, instantiator)) {
          result.push_back(std::move(*made));
        }
      }
    }
  }
  return result;
}

std::vector<SymbolicRule>
divisi::rewrite::symbolicAxioms(const std::vector<Rule> &axioms,
                                const std::vector<Rule> &rules,
                                Instantiator &instantiator) {
  std::set<std::string> named;
  for (const Rule &rule : rules) {
    TypeChoice choice = typeChoices(rule).front();
    for (const auto &[word, ignored] : choice) {
      if (rt::parseDType(word)) {
        named.insert(word);
      }
    }
  }
  std::vector<std::string> types(named.begin(), named.end());
  std::vector<SymbolicRule> result;
  for (const Rule &axiom : axioms) {
    for (const Rule &each : withOperators(axiom)) {
      for (const TypeBinding &binding : allTypeBindings(each, types)) {
        for (const Ranks &ranks : allRanks(each)) {
          if (auto made = makeSymbolic(each, ranks, binding, instantiator)) {
            result.push_back(std::move(*made));
          }
        }
      }
    }
  }
  return result;
}

/// Adds the operators of a side to `names`.
static void addOperators(const Graph &side, std::set<std::string> &names) {
  for (const Node &node : side.nodes) {
    names.insert(node.op);
  }
}

/// Those of `axioms` that define an operator which stands in `rules`, or in
/// such a definition: no others are used where their elements are followed.
static std::vector<Rule> neededDefinitions(const std::vector<Rule> &axioms,
                                           const std::vector<Rule> &rules) {
  std::set<std::string> names;
  for (const Rule &rule : rules) {
    for (const Rule &each : withOperators(rule)) {
      addOperators(each.source, names);
      addOperators(each.target, names);
    }
  }
  std::vector<Rule> definitions, needed;
  for (const Rule &axiom : axioms) {
    if (axiom.isDefinition) {
      std::vector<Rule> each = withOperators(axiom);
      definitions.insert(definitions.end(), each.begin(), each.end());
    }
  }
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    std::erase_if(definitions, [&](const Rule &each) {
      bool isNeeded = names.count(each.source.nodes.back().op) != 0;
      if (isNeeded) {
        addOperators(each.target, names);
        needed.push_back(each);
        isChanged = true;
      }
      return isNeeded;
    });
  }
  return needed;
}

std::vector<SymbolicRule>
divisi::rewrite::symbolicDefinitions(std::vector<Rule> axioms,
                                     const std::vector<Rule> &rules,
                                     Instantiator &instantiator) {
  std::erase_if(axioms, [](const Rule &axiom) { return !axiom.isDefinition; });
  return symbolicAxioms(axioms, rules, instantiator);
}

/// Passes a rule through the gates that try it.
static Verdict tryGates(const Rule &rule, Instantiator &instantiator) {
  Verdict verdict;
  for (const Rule &each : withOperators(rule)) {
    Trial trial = each.isAxiom ? tryAxiom(each, instantiator, kMostPerRanks)
                               : tryRule(each, instantiator);
    verdict.instances += trial.instances;
    verdict.shapes = std::max(verdict.shapes, trial.shapes);
    verdict.domain = std::max(verdict.domain, trial.domain);
    if (!trial.refusal && !each.isAxiom) {
      trial = tryFloats(each, instantiator);
    }
    if (trial.refusal) {
      verdict.status = RuleStatus::Refused;
      verdict.refusal = trial.refusal;
      break;
    }
  }
  return verdict;
}

/// What tryGates() said, as the text of a piece of work.
static std::string printTried(const Verdict &verdict) {
  std::ostringstream text;
  text << verdict.instances << ' ' << verdict.shapes << ' '
       << int(verdict.domain);
  if (verdict.refusal) {
    text << ' ' << int(verdict.refusal->gate) << '\n'
         << verdict.refusal->reason;
  }
  return text.str();
}

static Verdict parseTried(const std::string &tried) {
  Verdict verdict;
  std::istringstream text(tried);
  int domain = 0, gate = 0;
  text >> verdict.instances >> verdict.shapes >> domain;
  verdict.domain = static_cast<Domain>(domain);
  if (text >> gate) {
    verdict.status = RuleStatus::Refused;
    verdict.refusal = Refusal{static_cast<Gate>(gate), ""};
    text.get();
    std::getline(text, verdict.refusal->reason, '\0');
  }
  return verdict;
}

/// Passes rules through those gates, in processes of their own; in this one
/// where such a process did not end well.
static std::vector<Verdict> tryAll(const std::vector<Rule> &rules, size_t jobs,
                                   Instantiator &instantiator) {
  std::vector<Verdict> verdicts;
  runInProcesses(
      rules.size(), {jobs},
      [&](size_t i) { return printTried(tryGates(rules[i], instantiator)); },
      [&](size_t i, const Piece &piece) {
        verdicts.push_back(piece.text ? parseTried(*piece.text)
                                      : tryGates(rules[i], instantiator));
        verdicts.back().rule = rules[i].name;
        verdicts.back().seconds = piece.seconds;
      });
  return verdicts;
}

/// Adds what the prover says of a rule that was not refused.
static void addProof(const Rule &rule, const Obligations &obligations,
                     const ProofResult &proof, Verdict &verdict) {
  verdict.seconds += proof.seconds;
  std::vector<Ranks> all = ranksToProve(rule, obligations),
                     ranks = provedRanks(all, obligations, proof);
  // What holds at few ranks alone may be true of nothing else.
  bool isPart = !rule.open && !ranks.empty() && 2 * ranks.size() >= all.size();
  if (proof.isProved || isPart) {
    verdict.status = RuleStatus::Proved;
    verdict.axioms = proof.axioms;
    verdict.ranks = ranks;
    verdict.where = proof.isProved ? "" : describeRanks(ranks);
    verdict.open = proof.open;
    if (rule.open) {
      verdict.status = RuleStatus::Refused;
      verdict.refusal = Refusal{
          Gate::Proof, "it is marked open, but is proved; remove 'open'"};
    }
    return;
  }
  verdict.open = proof.open;
  bool hasSizes = !rule.sizes.empty() || !rule.shapes.empty();
  bool isTested = verdict.instances >= kLeastInstances &&
                  verdict.shapes >= (hasSizes ? kLeastShapes : 1);
  if (rule.open && !isTested) {
    verdict.status = RuleStatus::Refused;
    verdict.refusal = Refusal{
        Gate::Values, "it is not tested: its source was legal at " +
                          std::to_string(verdict.instances) + " instances of " +
                          std::to_string(verdict.shapes) +
                          " different sizes, expected at least " +
                          std::to_string(kLeastInstances) + " of " +
                          std::to_string(kLeastShapes)};
    return;
  }
  if (rule.open) {
    verdict.status = RuleStatus::Tested;
    return;
  }
  verdict.status = RuleStatus::Refused;
  if (proof.weaker) {
    verdict.refusal = Refusal{
        Gate::Floats, std::string("it is not ") + spell(*rule.numericClass) +
                          " but " + spell(*proof.weaker) + ": " + proof.open};
    return;
  }
  std::string some = ranks.empty() ? ""
                                   : "; it is proved with 'where " +
                                         describeRanks(ranks) + "'";
  verdict.refusal = Refusal{
      Gate::Proof, "it does not follow from the axioms: " + proof.open + some};
}

/// The rules whose elements are equal, by their definitions.
static std::vector<ProofResult>
followElements(const std::vector<Rule> &rules,
               const std::vector<Obligations> &obligations,
               const std::vector<Rule> &axioms, const ProofLimits &limits,
               Instantiator &instantiator) {
  if (!limits.byElements) {
    return std::vector<ProofResult>(obligations.size());
  }
  std::vector<ProofResult> proofs;
  followElementsInChildren(symbolicDefinitions(neededDefinitions(axioms, rules),
                                               rules, instantiator),
                           obligations, limits, [&](const ProofResult &proof) {
                             proofs.push_back(proof);
                           });
  return proofs;
}

/// Adds to what the axioms say of a rule what its elements said `before`.
static void addElements(const ProofResult &before, size_t obligations,
                        ProofResult &proof) {
  proof.weaker = before.weaker;
  if (proof.isProved) {
    return;
  }
  if (!before.open.empty()) {
    proof.open += "; by elements: " + before.open;
  }
  std::set<size_t> proved(before.proved.begin(), before.proved.end());
  proved.insert(proof.proved.begin(), proof.proved.end());
  proof.proved.assign(proved.begin(), proved.end());
  proof.isProved = obligations != 0 && proved.size() == obligations;
  std::set<std::string> used(before.axioms.begin(), before.axioms.end());
  used.insert(proof.axioms.begin(), proof.axioms.end());
  proof.axioms.assign(used.begin(), used.end());
}

/// Asks the axioms about all of those rules.
static void askAxioms(const std::vector<Rule> &rules, const LemmaAxioms &lemmas,
                      const std::vector<Obligations> &obligations,
                      const std::vector<Rule> &axioms,
                      const ProofLimits &limits, Instantiator &instantiator,
                      const std::function<void(const ProofResult &)> &done) {
  if (rules.empty()) {
    return;
  }
  std::vector<Rule> asked = rules;
  std::vector<Obligations> about = obligations;
  for (const Rule &lemma : lemmas.of(rules)) {
    asked.push_back(lemma);
    about.push_back(symbolicAxioms({lemma}, rules, instantiator));
  }
  std::vector<SymbolicRule> all = usableAxioms(
      symbolicAxioms(axiomsWithin(axioms, asked), rules, instantiator), about);
  auto usable = [&](size_t number, size_t steps) {
    bool isLeft = !limits.byElements ||
                  std::ranges::all_of(obligations[number], isLeftToAxioms);
    std::vector<SymbolicRule> some = isLeft ? all : std::vector<SymbolicRule>();
    for (size_t i = rules.size(); i != asked.size(); ++i) {
      // Axioms and other lemmas know nothing of rounding.
      if (std::ranges::count(rules[number].lemmas, asked[i].name) != 0 &&
          (isLeft || lemmas.isExact(asked[i].name))) {
        some.insert(some.end(), about[i].begin(), about[i].end());
      }
    }
    return usableAxioms(some, {obligations[number]}, steps);
  };
  proveInChildren(all, usable, obligations, limits, done);
}

void divisi::rewrite::proveRules(
    const std::vector<Rule> &rules, const std::vector<Obligations> &obligations,
    const std::vector<Rule> &axioms, const ProofLimits &limits,
    Instantiator &instantiator,
    const std::function<void(const ProofResult &)> &done) {
  const LemmaAxioms lemmas(rules);
  std::vector<ProofResult> proofs =
      followElements(rules, obligations, axioms, limits, instantiator);
  std::vector<size_t> left;
  std::vector<Rule> leftRules;
  std::vector<Obligations> leftObligations;
  for (size_t i = 0; i != proofs.size(); ++i) {
    bool isLeft = !limits.byElements || lemmas.hasExact(rules[i]) ||
                  std::ranges::all_of(obligations[i], isLeftToAxioms);
    if (!proofs[i].isProved && isLeft) {
      left.push_back(i);
      leftRules.push_back(rules[i]);
      leftObligations.push_back(obligations[i]);
    }
  }
  size_t told = 0, next = 0;
  auto tellUpTo = [&](size_t end) {
    for (; told != end; ++told) {
      done(proofs[told]);
    }
  };
  askAxioms(leftRules, lemmas, leftObligations, axioms, limits, instantiator,
            [&](const ProofResult &proof) {
              size_t at = left[next++];
              ProofResult before = std::exchange(proofs[at], proof);
              proofs[at].seconds += before.seconds;
              addElements(before, obligations[at].size(), proofs[at]);
              tellUpTo(at + 1);
            });
  tellUpTo(proofs.size());
}

void divisi::rewrite::checkRules(
    const std::vector<Rule> &rules, const std::vector<Rule> &axioms,
    const ProofLimits &limits,
    const std::function<void(const Verdict &)> &done) {
  Instantiator instantiator;
  std::vector<Verdict> verdicts = tryAll(rules, limits.jobs, instantiator);
  std::vector<Obligations> obligations;
  std::vector<size_t> places;
  std::vector<Rule> proving;
  for (size_t i = 0; i != rules.size(); ++i) {
    if (!verdicts[i].refusal && !rules[i].isAxiom) {
      places.push_back(i);
      proving.push_back(rules[i]);
      double begin = steadySeconds();
      obligations.push_back(obligationsOf(rules[i], instantiator));
      verdicts[i].seconds += steadySeconds() - begin;
    }
  }
  size_t told = 0, next = 0;
  // Lemmas stand before what they are for.
  auto tellUpTo = [&](size_t end) {
    for (; told != end; ++told) {
      refuseWithoutLemmas(rules, verdicts, told);
      done(verdicts[told]);
    }
  };
  proveRules(proving, obligations, axioms, limits, instantiator,
             [&](const ProofResult &proof) {
               size_t at = places[next];
               addProof(rules[at], obligations[next++], proof, verdicts[at]);
               tellUpTo(at + 1);
             });
  tellUpTo(verdicts.size());
}
