//===- CheckRandomTest.cpp - The checker on random certificates -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CertificateReference.h"
#include "RandomCertificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace divisi;
using namespace divisi::search;

static constexpr unsigned kSeeds = 3000;

static std::string text(std::optional<Wide> bound) {
  return bound ? toString(*bound) : "infinite";
}

// The checker and a slow reading of the same rules agree on the bound, and no
// assignment within the limit costs less.
TEST(CheckRandom, TheBoundIsTheReferencesAndBelowTheOptimum) {
  unsigned solved = 0, deductions = 0, splits = 0, tight = 0, infinite = 0;
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    Chance chance(seed);
    Problem problem = randomProblem(chance);
    ASSERT_EQ(validate(problem), std::nullopt);
    std::optional<Solution> best = cheapest(problem);
    RandomCertificate made =
        randomCertificate(chance, problem, best ? best->cost : 10);
    auto proved = provedBound(problem, made.certificate);
    ASSERT_TRUE(bool(proved)) << seed << ": " << proved.status().message();
    ASSERT_EQ(text(*proved), text(made.bound)) << seed;
    deductions += unsigned(made.certificate.deductions.size());
    splits += made.certificate.tree.size() > 1;
    infinite += !made.bound;
    if (!best) {
      continue;
    }
    ++solved;
    ASSERT_TRUE(made.bound) << seed;
    ASSERT_LE(*made.bound, best->cost) << seed;
    tight += *made.bound == best->cost;
    best->certificate = made.certificate;
    best->lowerBound = *made.bound;
    ASSERT_EQ(check(problem, *best), std::nullopt) << seed;
  }
  // Chance has made what the test is about.
  EXPECT_GT(solved, kSeeds / 4);
  EXPECT_GT(deductions, kSeeds);
  EXPECT_GT(splits, kSeeds / 4);
  EXPECT_GT(tight, kSeeds / 50);
  EXPECT_GT(infinite, kSeeds / 50);
}

namespace {
/// A lie that may be told of a solution. Returns whether there was room for it.
struct Lie {
  const char *name;
  std::function<bool(Chance &, const Problem &, Solution &)> tell;
  /// Part of the message that finds it out; empty: any.
  const char *message = "";
};
} // namespace

/// Any node that bounds, or null.
static BoundNode *someBound(Chance &chance, Solution &solution) {
  std::vector<BoundNode *> found;
  for (BoundNode &node : solution.certificate.tree) {
    if (node.bounds) {
      found.push_back(&node);
    }
  }
  return found.empty() ? nullptr : found[chance.below(unsigned(found.size()))];
}

/// Any but the root, or null.
static BoundNode *someChild(Chance &chance, Solution &solution) {
  std::vector<BoundNode> &tree = solution.certificate.tree;
  return tree.size() < 2 ? nullptr
                         : &tree[1 + chance.below(unsigned(tree.size() - 1))];
}

/// Puts a step that nothing justifies at a random place. What follows may be
/// wrong as well then, but this is the first that is.
static bool addFalseStep(Chance &chance, const Problem &problem,
                         Solution &solution, Deduction::Kind kind) {
  std::vector<Deduction> &deductions = solution.certificate.deductions;
  size_t place = chance.below(unsigned(deductions.size() + 1));
  Reference reference(problem);
  for (size_t i = 0; i != place; ++i) {
    reference.take(deductions[i]);
  }
  unsigned count = unsigned(problem.nodes.size());
  Deduction deduction{kind, chance.below(count), chance.below(count),
                      kind == Deduction::Kind::Drop ? chance.below(3) : 0};
  if (reference.justifies(deduction)) {
    return false;
  }
  deductions.insert(deductions.begin() + ptrdiff_t(place), deduction);
  return true;
}

static const Lie kLies[] = {
    {"bound + 1",
     [](Chance &, const Problem &, Solution &it) {
       ++it.lowerBound;
       return true;
     }},
    {"bound - 1",
     [](Chance &, const Problem &, Solution &it) {
       --it.lowerBound;
       return true;
     },
     "proves a lower bound"},
    {"cost",
     [](Chance &chance, const Problem &, Solution &it) {
       it.cost += chance.oneIn(2) ? 1 : -1;
       return true;
     },
     "the cost is"},
    {"peak",
     [](Chance &chance, const Problem &, Solution &it) {
       it.peak += chance.oneIn(2) ? 1 : -1;
       return true;
     },
     "the peak is"},
    {"time of the peak",
     [](Chance &chance, const Problem &, Solution &it) {
       it.peakTime += chance.oneIn(2) ? 1 : -1;
       return true;
     },
     "the peak is"},
    {"assignment",
     [](Chance &chance, const Problem &problem, Solution &it) {
       it.assignment[chance.below(unsigned(it.assignment.size()))] =
           chance.below(4);
       for (size_t i = 0; i != it.assignment.size(); ++i) {
         if (it.assignment[i] >= problem.nodes[i].costs.size()) {
           return true;
         }
       }
       Solution other = evaluate(problem, it.assignment);
       return other.cost != it.cost || other.peak != it.peak ||
              other.peakTime != it.peakTime;
     }},
    {"false drop",
     [](Chance &chance, const Problem &problem, Solution &it) {
       return addFalseStep(chance, problem, it, Deduction::Kind::Drop);
     },
     "step "},
    {"false follow",
     [](Chance &chance, const Problem &problem, Solution &it) {
       return addFalseStep(chance, problem, it, Deduction::Kind::Follow);
     },
     "step "},
    {"child keeps a state less",
     [](Chance &chance, const Problem &, Solution &it) {
       // The children are disjoint, so it was kept by this one alone.
       BoundNode *node = someChild(chance, it);
       if (node) {
         node->kept.erase(node->kept.begin() +
                          chance.below(unsigned(node->kept.size())));
       }
       return node != nullptr;
     },
     "none of its children keeps state"},
    {"child keeps a state twice",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someChild(chance, it);
       if (node) {
         node->kept.push_back(node->kept.back());
       }
       return node != nullptr;
     },
     "not sorted"},
    {"child keeps states backwards",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someChild(chance, it);
       if (!node || node->kept.size() < 2) {
         return false;
       }
       std::ranges::reverse(node->kept);
       return true;
     },
     "not sorted"},
    {"child keeps a state that there is not",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someChild(chance, it);
       if (node) {
         node->kept.push_back(7);
       }
       return node != nullptr;
     },
     "which the steps did not leave"},
    {"child of a variable that there is not",
     [](Chance &chance, const Problem &problem, Solution &it) {
       BoundNode *node = someChild(chance, it);
       if (node) {
         node->variable = uint32_t(problem.nodes.size());
       }
       return node != nullptr;
     },
     "is none that the steps left"},
    {"later parent",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someChild(chance, it);
       if (node) {
         node->parent =
             int32_t(node - it.certificate.tree.data() + chance.below(2));
       }
       return node != nullptr;
     },
     "is no earlier node"},
    {"second root",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someChild(chance, it);
       if (node) {
         node->parent = -1;
       }
       return node != nullptr;
     },
     "only the first is a root"},
    {"root with a parent",
     [](Chance &, const Problem &, Solution &it) {
       it.certificate.tree[0].parent = 0;
       return true;
     },
     "must be the root"},
    {"root keeps",
     [](Chance &, const Problem &, Solution &it) {
       it.certificate.tree[0].kept = {0};
       return true;
     },
     "the root has all states"},
    {"a potential more",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someBound(chance, it);
       if (node) {
         node->potentials.push_back(0);
       }
       return node != nullptr;
     },
     "potentials, expected"},
    {"a potential less",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someBound(chance, it);
       if (!node || node->potentials.empty()) {
         return false;
       }
       node->potentials.pop_back();
       return true;
     },
     "potentials, expected"},
    {"negative price",
     [](Chance &chance, const Problem &problem, Solution &it) {
       BoundNode *node = someBound(chance, it);
       if (!node || !problem.usageLimit) {
         return false;
       }
       node->prices.push_back({100, -1});
       return true;
     },
     "is below zero"},
    {"time twice",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someBound(chance, it);
       if (!node || node->prices.empty()) {
         return false;
       }
       node->prices.push_back(node->prices.back());
       return true;
     },
     "comes twice"},
    {"price without a limit",
     [](Chance &chance, const Problem &problem, Solution &it) {
       BoundNode *node = someBound(chance, it);
       if (!node || problem.usageLimit) {
         return false;
       }
       node->prices.push_back({0, 0});
       return true;
     },
     "no limit"},
    {"numbers of a node that does not bound",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someBound(chance, it);
       if (!node || (node->potentials.empty() && node->prices.empty())) {
         return false;
       }
       node->bounds = node->fixes = false;
       return true;
     },
     "does not bound"},
    {"fixing without a cutoff",
     [](Chance &chance, const Problem &, Solution &it) {
       BoundNode *node = someBound(chance, it);
       if (!node) {
         return false;
       }
       node->fixes = true;
       it.certificate.cutoff.reset();
       return true;
     },
     "no cutoff"},
    {"price bits",
     [](Chance &chance, const Problem &, Solution &it) {
       it.certificate.priceBits = chance.oneIn(2) ? 61 : -61;
       return true;
     },
     "must be within"},
    {"potential bits",
     [](Chance &, const Problem &, Solution &it) {
       it.certificate.potentialBits = it.certificate.priceBits + 1;
       return true;
     },
     "are more than"},
    {"no certificate",
     [](Chance &, const Problem &problem, Solution &it) {
       it.certificate = {};
       return it.lowerBound > trivialLowerBound(problem);
     },
     "has no certificate"},
};

TEST(CheckRandom, EveryLieIsFoundOut) {
  std::map<std::string, unsigned> told;
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    Chance chance(seed);
    Problem problem = randomProblem(chance);
    std::optional<Solution> best = cheapest(problem);
    if (!best) {
      continue;
    }
    RandomCertificate made = randomCertificate(chance, problem, best->cost);
    best->certificate = made.certificate;
    best->lowerBound = *made.bound;
    for (const Lie &lie : kLies) {
      Solution liar = *best;
      if (!lie.tell(chance, problem, liar)) {
        continue;
      }
      ++told[lie.name];
      std::optional<std::string> found = check(problem, liar);
      ASSERT_TRUE(found) << seed << ": " << lie.name;
      ASSERT_NE(found->find(lie.message), std::string::npos)
          << seed << ": " << lie.name << ": " << *found;
    }
  }
  for (const Lie &lie : kLies) {
    EXPECT_GT(told[lie.name], 20u) << lie.name;
  }
}

/// Changes one number somewhere in the certificate.
static void damage(Chance &chance, Certificate &it) {
  BoundNode &node = it.tree[chance.below(unsigned(it.tree.size()))];
  auto another = [&] { return uint32_t(chance.below(5)); };
  switch (chance.below(9)) {
  case 0:
    if (!it.deductions.empty()) {
      it.deductions[chance.below(unsigned(it.deductions.size()))] = {
          Deduction::Kind(chance.below(2)), another(), another(), another()};
    }
    return;
  case 1:
    it.deductions.push_back(
        {Deduction::Kind(chance.below(2)), another(), another(), another()});
    return;
  case 2:
    it.cutoff = chance.between(-20, 60);
    return;
  case 3:
    it.priceBits += chance.between(-2, 2);
    return;
  case 4:
    it.potentialBits += chance.between(-2, 2);
    return;
  case 5:
    node.kept.push_back(another());
    std::ranges::sort(node.kept);
    return;
  case 6:
    node.parent = chance.between(-1, int(it.tree.size()));
    return;
  case 7:
    if (!node.potentials.empty()) {
      node.potentials[chance.below(unsigned(node.potentials.size()))] =
          chance.between(INT32_MIN / 2, INT32_MAX / 2) >> chance.below(31);
    }
    return;
  default:
    node.fixes = node.bounds && !node.fixes;
  }
}

// Damage may leave a certificate valid, of another bound; never of a false one.
TEST(CheckRandom, NoDamageProvesAFalseBound) {
  unsigned accepted = 0, refused = 0;
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    Chance chance(seed);
    Problem problem = randomProblem(chance);
    std::optional<Solution> best = cheapest(problem);
    if (!best) {
      continue;
    }
    Certificate good =
        randomCertificate(chance, problem, best->cost).certificate;
    for (unsigned tries = 0; tries != 10; ++tries) {
      Certificate bad = good;
      for (unsigned times = 1 + chance.below(3); times != 0; --times) {
        damage(chance, bad);
      }
      auto proved = provedBound(problem, bad);
      ++(proved ? accepted : refused);
      ASSERT_TRUE(!proved || (*proved && **proved <= best->cost))
          << seed << ": " << text(*proved) << " > " << toString(best->cost);
    }
  }
  EXPECT_GT(accepted, kSeeds / 4);
  EXPECT_GT(refused, kSeeds / 4);
}
