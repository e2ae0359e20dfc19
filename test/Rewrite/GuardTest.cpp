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
// is needed, and this would notice that one is not there.
//
//===----------------------------------------------------------------------===//

#include "ParsedRules.h"
#include "ProvedOf.h"

#include "divisi/Rewrite/Shipped.h"
#include "divisi/Rewrite/Trial.h"

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

/// The axiom for all numbers, if it is one of floats.
static std::optional<Rule> forAllNumbers(const Rule &axiom) {
  std::string text = printRule(axiom);
  size_t count = 0;
  for (size_t at; (at = text.find(" float[")) != std::string::npos; ++count) {
    text.replace(at, 7, " number[");
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

/// Whether an axiom for all numbers is false of integers. It is taken as a
/// rule: what its source's operators do not take is no fault of it.
static bool isOfFloatsAlone(const Rule &axiom, Instantiator &instantiator) {
  Rule rule = axiom;
  rule.isAxiom = false;
  rule.numericClass = NumericClass::Reassociates;
  return isFalse(rule, instantiator);
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
    // What operators demand of extents is said so that such are drawn.
    if (each.relation != Relation::Broadcasts ||
        isFalse(guard.without, instantiator, 60)) {
      guards.push_back(std::move(guard));
    }
  }
  std::optional<Rule> wider = forAllNumbers(axiom);
  if (wider && isOfFloatsAlone(*wider, instantiator)) {
    guards.push_back({axiom.name + ": float", *wider});
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
  }

  std::vector<Rule> axioms;
  /// By the guard that keeps them from being proved.
  std::map<std::string, Rule> witnesses;
  Instantiator instantiator;
};

TEST_F(GuardTest, WithoutItsGuardAnAxiomProvesWhatIsFalse) {
  for (Rule &axiom : axioms) {
    for (const Guard &guard : guardsOf(axiom, instantiator)) {
      SCOPED_TRACE(guard.name);
      auto witness = witnesses.find(guard.name);
      if (witness == witnesses.end()) {
        ADD_FAILURE() << "no rule of guards.rules needs it; add one, or take "
                         "the guard away";
        continue;
      }
      Rule guarded = std::exchange(axiom, guard.without);
      EXPECT_FALSE(provedOf({witness->second}, axioms).empty());
      axiom = std::move(guarded);
      witnesses.erase(witness);
    }
  }
  for (const auto &[guard, rule] : witnesses) {
    ADD_FAILURE() << rule.name << " is about a guard that is not there, "
                  << guard;
  }
}

TEST_F(GuardTest, WhatGuardsKeepOutIsFalse) {
  ASSERT_GE(witnesses.size(), 11u);
  std::vector<Rule> rules;
  for (const auto &[guard, rule] : witnesses) {
    EXPECT_TRUE(isFalse(rule, instantiator)) << rule.name;
    rules.push_back(rule);
  }
  EXPECT_EQ(provedOf(rules, axioms), std::vector<std::string>());
}
