//===- CheckRandomTest.cpp - The checker on random certificates -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseCount.h"
#include "CertificateReference.h"
#include "RandomCertificate.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace divisi;
using namespace divisi::search;

static constexpr unsigned kSeeds = 3000;

static std::string text(std::optional<Wide> bound) {
  return bound ? toString(*bound) : "infinite";
}

// The checker and a slow reading of the same rules agree on the bound, and no
// assignment within the limit costs less.
TEST(CheckRandom, TheBoundIsTheReferencesAndBelowTheOptimum) {
  unsigned solved = 0, deductions = 0, splits = 0, tight = 0, infinite = 0,
           resources = 0;
  CaseCount cases("certificates against the reference");
  for (unsigned seed = 0; seed != kSeeds; ++seed, ++cases) {
    CertifiedCase given(seed);
    const auto &[certificate, bound] = given.made;
    ASSERT_EQ(validate(given.problem), std::nullopt);
    auto proved = provedBound(given.problem, certificate);
    ASSERT_TRUE(bool(proved)) << seed << ": " << proved.status().message();
    ASSERT_EQ(text(*proved), text(bound)) << seed;
    deductions += unsigned(certificate.deductions.size());
    splits += certificate.tree.size() > 1;
    for (const BoundNode &node : certificate.tree) {
      resources += !node.prices.empty() && node.prices.back().resource != 0;
    }
    infinite += !bound;
    if (!given.best) {
      continue;
    }
    ++solved;
    ASSERT_TRUE(bound) << seed;
    ASSERT_LE(*bound, given.best->cost) << seed;
    tight += *bound == given.best->cost;
    ASSERT_EQ(check(given.problem, *given.best), std::nullopt) << seed;
  }
  // The dice have made what the test is about.
  EXPECT_GT(solved, kSeeds / 4);
  EXPECT_GT(deductions, kSeeds);
  EXPECT_GT(splits, kSeeds / 4);
  EXPECT_GT(tight, kSeeds / 50);
  EXPECT_GT(infinite, kSeeds / 50);
  EXPECT_GT(resources, kSeeds / 10);
}

/// Changes one number somewhere in the certificate.
static void damage(Dice &dice, Certificate &it) {
  BoundNode &node = it.tree[dice.below(unsigned(it.tree.size()))];
  auto another = [&] { return uint32_t(dice.below(5)); };
  switch (dice.below(11)) {
  case 0:
    if (!it.deductions.empty()) {
      it.deductions[dice.below(unsigned(it.deductions.size()))] = {
          Deduction::Kind(dice.below(2)), another(), another(), another()};
    }
    return;
  case 1:
    it.deductions.push_back(
        {Deduction::Kind(dice.below(2)), another(), another(), another()});
    return;
  case 2:
    it.cutoff = dice.between(-20, 60);
    return;
  case 3:
    it.priceBits += dice.between(-2, 2);
    return;
  case 4:
    it.potentialBits += dice.between(-2, 2);
    return;
  case 5:
    node.kept.push_back(another());
    std::ranges::sort(node.kept);
    return;
  case 6:
    node.parent = dice.between(-1, int(it.tree.size()));
    return;
  case 7:
    if (!node.potentials.empty()) {
      node.potentials[dice.below(unsigned(node.potentials.size()))] =
          dice.between(INT32_MIN / 2, INT32_MAX / 2) >> dice.below(31);
    }
    return;
  case 8:
    if (!node.prices.empty()) {
      node.prices[dice.below(node.prices.size())].resource = dice.below(3u);
    }
    return;
  case 9:
    if (!node.prices.empty()) {
      MemoryPrice &price = node.prices[dice.below(node.prices.size())];
      (dice.oneIn(2) ? price.time : price.price) += dice.between(-3, 9);
    }
    return;
  default:
    node.fixes = node.bounds && !node.fixes;
  }
}

// Damage may leave a certificate valid, of another bound; never of a false one.
TEST(CheckRandom, NoDamageProvesAFalseBound) {
  unsigned accepted = 0, refused = 0;
  CaseCount cases("damaged certificates");
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    CertifiedCase given(seed);
    if (!given.best) {
      continue;
    }
    for (unsigned tries = 0; tries != 10; ++tries, ++cases) {
      Certificate bad = given.made.certificate;
      for (unsigned times = 1 + given.dice.below(3u); times != 0; --times) {
        damage(given.dice, bad);
      }
      auto proved = provedBound(given.problem, bad);
      ++(proved ? accepted : refused);
      ASSERT_TRUE(!proved || (*proved && **proved <= given.best->cost))
          << seed << ": " << text(*proved) << " > "
          << toString(given.best->cost);
    }
  }
  EXPECT_GT(accepted, kSeeds / 4);
  EXPECT_GT(refused, kSeeds / 4);
}
