//===- TrialAxioms.cpp - Axioms, evaluated at all small sizes -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Gates/Trier.h"

#include <cmath>

using namespace divisi::rewrite;

/// The largest extent and integer where an axiom is tried at all of them.
static constexpr int64_t kMostExtent = 3;

/// How many assignments there are then, before conditions.
static double countAll(const Rule &rule, const Ranks &ranks) {
  size_t extents = rule.sizes.size();
  for (const auto &[shape, rank] : ranks) {
    extents += rank;
  }
  return std::pow(kMostExtent, extents) *
         std::pow(kMostExtent + 2, rule.ints.size());
}

/// Up to `most` cases of all kinds by turns.
void Trier::drawSome(const Ranks &ranks, size_t most) {
  constexpr Draw kinds[] = {Draw::Any, Draw::Tiny, Draw::Distinct};
  for (size_t i = 0; i != 4 * most && cases_.size() < most; ++i) {
    auto assignment = draw(rule_, ranks, kinds[i % std::size(kinds)], random_);
    if (!assignment || isRefused()) {
      return;
    }
    addCase(*assignment);
  }
}

Trial Trier::runAll(size_t most) {
  for (const Ranks &ranks : allRanks(rule_)) {
    if (countAll(rule_, ranks) <= double(most)) {
      forAll(rule_, ranks, kMostExtent, [&](const Assignment &assignment) {
        addCase(assignment);
        return !isRefused();
      });
    } else {
      drawSome(ranks, most);
    }
    checkValues();
    if (isRefused()) {
      return trial_;
    }
    isSatisfied_ |= !cases_.empty();
    cases_.clear();
  }
  if (trial_.instances == 0) {
    refuseWithoutCase();
  }
  return trial_;
}
