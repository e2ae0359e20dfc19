//===- LiesTest.cpp - Lies about solutions are found out ------------------===//
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
#include <functional>

using namespace divisi::search;

static constexpr unsigned kSeeds = 3000;

namespace {
/// A lie that may be told of a solution. Returns whether there was room for it.
struct Lie {
  const char *name;
  std::function<bool(Dice &, const Problem &, Solution &)> tell;
  /// Part of the message that finds it out; empty: any.
  const char *message = "";
};
} // namespace

/// Any node that bounds, or null.
static BoundNode *someBound(Dice &dice, Solution &solution) {
  std::vector<BoundNode *> found;
  for (BoundNode &node : solution.certificate.tree) {
    if (node.bounds) {
      found.push_back(&node);
    }
  }
  return found.empty() ? nullptr : found[dice.below(unsigned(found.size()))];
}

/// Any but the root, or null.
static BoundNode *someChild(Dice &dice, Solution &solution) {
  std::vector<BoundNode> &tree = solution.certificate.tree;
  return tree.size() < 2 ? nullptr
                         : &tree[1 + dice.below(unsigned(tree.size() - 1))];
}

/// A lie about a node that bounds, or about one that is a child: `edit` makes
/// it, unless there is no room for it.
template <typename Edit> static auto ofBound(Edit edit) {
  return [edit](Dice &dice, const Problem &problem, Solution &it) {
    BoundNode *node = someBound(dice, it);
    return node && edit(dice, problem, it, *node);
  };
}
template <typename Edit> static auto ofChild(Edit edit) {
  return [edit](Dice &dice, const Problem &problem, Solution &it) {
    BoundNode *node = someChild(dice, it);
    return node && edit(dice, problem, it, *node);
  };
}

/// Puts a deduction that nothing justifies at a random place. What follows may
/// be wrong as well then, but this is the first that is.
static bool addFalseStep(Dice &dice, const Problem &problem, Solution &solution,
                         Deduction::Kind kind) {
  std::vector<Deduction> &deductions = solution.certificate.deductions;
  size_t place = dice.below(unsigned(deductions.size() + 1));
  CertificateReference reference(problem);
  for (size_t i = 0; i != place; ++i) {
    reference.take(deductions[i]);
  }
  unsigned count = unsigned(problem.nodes.size());
  Deduction deduction{kind, dice.below(count), dice.below(count),
                      kind == Deduction::Kind::Drop ? dice.below(3u) : 0};
  if (reference.justifies(deduction)) {
    return false;
  }
  deductions.insert(deductions.begin() + ptrdiff_t(place), deduction);
  return true;
}

static const Lie kLies[] = {
    {"bound + 1",
     [](Dice &, const Problem &, Solution &it) {
       ++it.lowerBound;
       return true;
     }},
    {"bound - 1",
     [](Dice &, const Problem &, Solution &it) {
       --it.lowerBound;
       return true;
     },
     "proves a lower bound"},
    {"cost",
     [](Dice &dice, const Problem &, Solution &it) {
       it.cost += dice.oneIn(2) ? 1 : -1;
       return true;
     },
     "the cost is"},
    {"peak",
     [](Dice &dice, const Problem &, Solution &it) {
       it.peak += dice.oneIn(2) ? 1 : -1;
       return true;
     },
     "the peak"},
    {"time of the peak",
     [](Dice &dice, const Problem &, Solution &it) {
       it.peakTime += dice.oneIn(2) ? 1 : -1;
       return true;
     },
     "the peak"},
    {"assignment",
     [](Dice &dice, const Problem &problem, Solution &it) {
       it.assignment[dice.below(unsigned(it.assignment.size()))] =
           dice.below(4u);
       for (size_t i = 0; i != it.assignment.size(); ++i) {
         if (it.assignment[i] >= problem.nodes[i].costs.size()) {
           return true;
         }
       }
       Solution other = evaluate(problem, it.assignment);
       return other.cost != it.cost || other.peak != it.peak ||
              other.peakTime != it.peakTime || other.morePeaks != it.morePeaks;
     }},
    {"false drop",
     [](Dice &dice, const Problem &problem, Solution &it) {
       return addFalseStep(dice, problem, it, Deduction::Kind::Drop);
     },
     "step "},
    {"false follow",
     [](Dice &dice, const Problem &problem, Solution &it) {
       return addFalseStep(dice, problem, it, Deduction::Kind::Follow);
     },
     "step "},
    {"child keeps a state less",
     ofChild(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           // The children are disjoint, so it was kept by this one alone.
           node.kept.erase(node.kept.begin() +
                           dice.below(unsigned(node.kept.size())));
           return true;
         }),
     "none of its children keeps state"},
    {"child keeps a state twice",
     ofChild(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.kept.push_back(node.kept.back());
           return true;
         }),
     "not sorted"},
    {"child keeps states backwards",
     ofChild(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           if (node.kept.size() < 2) {
             return false;
           }
           std::ranges::reverse(node.kept);
           return true;
         }),
     "not sorted"},
    {"child keeps a state that there is not",
     ofChild(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.kept.push_back(7);
           return true;
         }),
     "which the steps did not leave"},
    {"child of a variable that there is not",
     ofChild(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.variable = uint32_t(problem.nodes.size());
           return true;
         }),
     "is none that the steps left"},
    {"later parent",
     ofChild(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.parent =
               int32_t(&node - it.certificate.tree.data() + dice.below(2));
           return true;
         }),
     "is not an earlier node"},
    {"second root",
     ofChild(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.parent = -1;
           return true;
         }),
     "only the first is a root"},
    {"root with a parent",
     [](Dice &, const Problem &, Solution &it) {
       it.certificate.tree[0].parent = 0;
       return true;
     },
     "must be the root"},
    {"root keeps",
     [](Dice &, const Problem &, Solution &it) {
       it.certificate.tree[0].kept = {0};
       return true;
     },
     "the root has all states"},
    {"a potential more",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.potentials.push_back(0);
           return true;
         }),
     "potentials, expected"},
    {"a potential less",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           if (node.potentials.empty()) {
             return false;
           }
           node.potentials.pop_back();
           return true;
         }),
     "potentials, expected"},
    {"negative price",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           uint32_t last = problem.numResources() - 1;
           if (!problem.limitOf(last)) {
             return false;
           }
           node.prices.push_back({100, -1, last});
           return true;
         }),
     "is below zero"},
    {"time twice",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           if (node.prices.empty()) {
             return false;
           }
           node.prices.push_back(node.prices.back());
           return true;
         }),
     "comes twice"},
    {"price without a limit",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           uint32_t last = problem.numResources() - 1;
           if (problem.limitOf(last)) {
             return false;
           }
           node.prices.push_back({0, 0, last});
           return true;
         }),
     "no limit"},
    {"price of a resource that there is not",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.prices.push_back({0, 1, problem.numResources()});
           return true;
         }),
     "it has a price of resource "},
    {"resources out of order",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           if (node.prices.empty() ||
               node.prices.front().resource == node.prices.back().resource) {
             return false;
           }
           std::ranges::rotate(node.prices, node.prices.end() - 1);
           return true;
         }),
     "not sorted by resource"},
    {"peak of a further resource",
     [](Dice &dice, const Problem &, Solution &it) {
       if (it.morePeaks.empty()) {
         return false;
       }
       Peak &peak = it.morePeaks[dice.below(it.morePeaks.size())];
       peak.time += 1;
       return true;
     },
     "the peak of resource"},
    {"peaks of a resource less",
     [](Dice &, const Problem &, Solution &it) {
       if (it.morePeaks.empty()) {
         return false;
       }
       it.morePeaks.pop_back();
       return true;
     },
     "it has peaks of"},
    {"numbers of a node that does not bound",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           if ((node.potentials.empty() && node.prices.empty())) {
             return false;
           }
           node.bounds = node.fixes = false;
           return true;
         }),
     "does not bound"},
    {"fixing without a cutoff",
     ofBound(
         [](Dice &dice, const Problem &problem, Solution &it, BoundNode &node) {
           node.fixes = true;
           it.certificate.cutoff.reset();
           return true;
         }),
     "no cutoff"},
    {"price bits",
     [](Dice &dice, const Problem &, Solution &it) {
       it.certificate.priceBits = dice.oneIn(2) ? 61 : -61;
       return true;
     },
     "must be within"},
    {"potential bits",
     [](Dice &, const Problem &, Solution &it) {
       it.certificate.potentialBits = it.certificate.priceBits + 1;
       return true;
     },
     "are more than"},
    {"no certificate",
     [](Dice &, const Problem &problem, Solution &it) {
       it.certificate = {};
       return it.lowerBound > trivialLowerBound(problem);
     },
     "has no certificate"},
};

TEST(CheckRandom, EveryLieIsFoundOut) {
  std::map<std::string, unsigned> told;
  CaseCount cases("lies about a solution");
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    CertifiedCase given(seed);
    if (!given.best) {
      continue;
    }
    for (const Lie &lie : kLies) {
      Solution liar = *given.best;
      if (!lie.tell(given.dice, given.problem, liar)) {
        continue;
      }
      ++cases;
      ++told[lie.name];
      std::optional<std::string> found = check(given.problem, liar);
      ASSERT_TRUE(found) << seed << ": " << lie.name;
      ASSERT_NE(found->find(lie.message), std::string::npos)
          << seed << ": " << lie.name << ": " << *found;
    }
  }
  for (const Lie &lie : kLies) {
    EXPECT_GT(told[lie.name], 20u) << lie.name;
  }
}
