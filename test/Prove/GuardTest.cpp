//===- GuardTest.cpp - Axioms without one of their guards -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A guard of an axiom is a condition, or element types without which it is
// false. Taken away, something false has to be proved, which is not with it:
// Inputs/guards.rules has such a rule for every guard there is. So each of them
// is needed, and this would notice that one is not there. All axioms are tried
// by `make prove`, a share of them otherwise.
//
//===----------------------------------------------------------------------===//

#include "ProvedOf.h"
#include "test/Rules/ParsedRules.h"

#include "divisi/Prove/Trial.h"
#include "divisi/Rules/Shipped.h"

#include "test/Sample.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rewrite;

namespace {

/// A guard: what it is called, and its axiom without it.
struct Guard {
  std::string name;
  Rule without;
};

} // namespace

/// The axiom for another family of numbers, if it is one of floats.
static std::optional<Rule> forFamily(const Rule &axiom,
                                     const std::string &family) {
  std::string text = printRule(axiom);
  size_t count = 0;
  for (size_t at; (at = text.find(" float[")) != std::string::npos; ++count) {
    text.replace(at, 7, " " + family + "[");
  }
  return count == 0 ? std::nullopt : std::optional(parsed(text).at(0));
}

/// Whether it is refused where it is evaluated.
static bool isFalse(const Rule &rule, Instantiator &instantiator,
                    size_t most = 9) {
  std::vector<Rule> all = withOperators(rule);
  return std::any_of(all.begin(), all.end(), [&](const Rule &each) {
    return (each.isAxiom ? tryAxiom(each, instantiator, most)
                         : tryRule(each, instantiator))
        .refusal.has_value();
  });
}

/// Whether an axiom that is taken as a rule is: what its source's operators do
/// not take is no fault of it.
static bool isFalseRule(const Rule &axiom, Instantiator &instantiator) {
  Rule rule = axiom;
  rule.isAxiom = false;
  rule.numericClass = NumericClass::Reassociates;
  return isFalse(rule, instantiator);
}

/// Whether an axiom of floats is false of integers. What its operators do not
/// take of these is no fault of it, and says nothing of what they do take.
static bool isFalseOfIntegers(const Rule &axiom, Instantiator &instantiator) {
  constexpr size_t most = 6;
  std::optional<Rule> wider = forFamily(axiom, "int");
  if (!wider) {
    return false;
  }
  wider->isAxiom = false;
  wider->numericClass = NumericClass::Reassociates;
  std::vector<Rule> all = withOperators(*wider);
  return std::any_of(all.begin(), all.end(), [&](const Rule &each) {
    std::optional<Refusal> refusal = tryAxiom(each, instantiator, most).refusal;
    return refusal && refusal->gate == Gate::Values;
  });
}

/// Whether an axiom is false without a condition. What operators demand of
/// ranks and extents is said so that such are drawn.
static bool isNeeded(const Condition &condition, const Rule &axiom,
                     const Rule &without, Instantiator &instantiator) {
  constexpr size_t most = 60;
  if (condition.relation != Relation::Broadcasts) {
    return true;
  }
  if (!axiom.isOfShapes(condition)) {
    return isFalse(without, instantiator, most);
  }
  Condition sameRank{condition.left, Relation::Eq, condition.right};
  sameRank.left.kind = sameRank.right.kind = Expr::Kind::Rank;
  Rule ofRanks = without;
  ofRanks.conditions.push_back(sameRank);
  return isFalse(ofRanks, instantiator, most) ||
         isFalseRule(without, instantiator);
}

static std::vector<Guard> guardsOf(const Rule &axiom,
                                   Instantiator &instantiator) {
  std::vector<Guard> guards;
  for (size_t i = 0; i != axiom.conditions.size(); ++i) {
    const Condition &each = axiom.conditions[i];
    Guard guard{axiom.name + ": " + printExpr(each.left) + " " +
                    spell(each.relation) + " " + printExpr(each.right),
                axiom};
    guard.without.conditions.erase(guard.without.conditions.begin() + long(i));
    if (isNeeded(each, axiom, guard.without, instantiator)) {
      guards.push_back(std::move(guard));
    }
  }
  if (isFalseOfIntegers(axiom, instantiator)) {
    guards.push_back({axiom.name + ": float", *forFamily(axiom, "number")});
  }
  return guards;
}

class GuardTest : public testing::Test {
protected:
  void SetUp() override {
    auto shipped = shippedAxioms();
    ASSERT_TRUE(shipped) << shipped.status().message();
    axioms = *shipped;
    for (const Rule &rule : parsedFile(DIVISI_GUARDS)) {
      ASSERT_FALSE(rule.comments.empty()) << rule.name;
      std::string guard = rule.comments.back();
      ASSERT_TRUE(guard.starts_with("without ")) << guard;
      EXPECT_TRUE(witnesses.emplace(guard.substr(8), rule).second) << guard;
    }
    ASSERT_GE(witnesses.size(), 11u);
    std::string first = witnesses.begin()->first;
    isTried.resize(axioms.size());
    // Each takes seconds: `make prove` asks all.
    for (size_t i : test::sampleOf(test::sampleOf(axioms.size(), "guards"),
                                   "of axioms", 3)) {
      isTried[i] = true;
    }
    for (size_t i = 0; i != axioms.size(); ++i) {
      std::string ofAxiom = axioms[i].name + ": ";
      isTried[i] = isTried[i] || first.starts_with(ofAxiom);
      std::erase_if(witnesses, [&](const auto &each) {
        return !isTried[i] && each.first.starts_with(ofAxiom);
      });
    }
  }

  /// An axiom as those formulas that witnesses could need.
  std::vector<SymbolicRule> say(const Rule &axiom) {
    std::vector<Rule> all;
    for (const auto &[guard, rule] : witnesses) {
      all.push_back(rule);
    }
    return symbolicAxioms({axiom}, all, instantiator);
  }

  /// All axioms so, for all tests.
  std::vector<std::vector<SymbolicRule>> sayAll() {
    static std::vector<std::vector<SymbolicRule>> said;
    if (said.empty()) {
      for (const Rule &axiom : axioms) {
        said.push_back(say(axiom));
      }
    }
    return said;
  }

  std::vector<Rule> axioms;
  /// Whether the guards of the axiom are tried, for each axiom.
  std::vector<bool> isTried;
  /// By the guard that keeps them from being proved; those of axioms that are
  /// tried.
  std::map<std::string, Rule> witnesses;
  Instantiator instantiator;
};

/// All of them, one behind the other.
static std::vector<SymbolicRule>
joined(const std::vector<std::vector<SymbolicRule>> &parts) {
  std::vector<SymbolicRule> result;
  for (const std::vector<SymbolicRule> &part : parts) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

/// Whether some instance is, by few axioms or by all.
static bool isProved(const Rule &rule,
                     const std::vector<SymbolicRule> &axioms) {
  constexpr size_t steps[] = {0, 1, kAllSteps};
  return std::any_of(std::begin(steps), std::end(steps), [&](size_t most) {
    return !provedOf({rule}, axioms, most, kDefaultWork).empty();
  });
}

TEST_F(GuardTest, WithoutItsGuardAnAxiomProvesWhatIsFalse) {
  std::vector<std::vector<SymbolicRule>> said = sayAll();
  for (size_t i = 0; i != axioms.size(); ++i) {
    if (!isTried[i]) {
      continue;
    }
    for (const Guard &guard : guardsOf(axioms[i], instantiator)) {
      SCOPED_TRACE(guard.name);
      auto witness = witnesses.find(guard.name);
      if (witness == witnesses.end()) {
        ADD_FAILURE() << "no rule of guards.rules needs it; add one, or take "
                         "the guard away";
        continue;
      }
      auto guarded = std::exchange(said[i], say(guard.without));
      EXPECT_TRUE(isProved(witness->second, joined(said)));
      said[i] = std::move(guarded);
      witnesses.erase(witness);
    }
  }
  for (const auto &[guard, rule] : witnesses) {
    ADD_FAILURE() << rule.name << " is about a guard that is not there, "
                  << guard;
  }
}

TEST_F(GuardTest, WhatGuardsKeepOutIsFalse) {
  ASSERT_FALSE(witnesses.empty());
  std::vector<Rule> rules;
  for (const auto &[guard, rule] : witnesses) {
    EXPECT_TRUE(isFalse(rule, instantiator)) << rule.name;
    rules.push_back(rule);
  }
  EXPECT_EQ(provedOf(rules, joined(sayAll()), kAllSteps, kWorkForNo),
            std::vector<std::string>());
}
