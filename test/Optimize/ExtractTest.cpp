//===- ExtractTest.cpp - Extractions from random e-graphs -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Acyclic e-graphs are drawn at random. Of small ones all extractions are
// enumerated, and the answers cost what the cheapest of these do; of larger
// ones the answers are checked, and are no dearer than the baseline.
//
//===----------------------------------------------------------------------===//

#include "divisi/Optimize/Extract.h"

#include "test/Sample.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <tuple>

using namespace divisi;
using namespace divisi::optimize;

namespace {
/// Draws e-graphs whose classes read classes before them; numbers are shuffled.
class Drawer {
public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  /// A number from 0 to `most`.
  int64_t upTo(int64_t most) {
    return std::uniform_int_distribution<int64_t>(0, most)(random_);
  }

  /// So many classes, the last of which is a root; what is read is among the
  /// `reach` classes before. A class may have no node.
  ExtractionProblem draw(size_t classes, size_t nodes, size_t reach,
                         int64_t cost) {
    std::vector<uint32_t> names(classes);
    for (size_t c = 0; c != classes; ++c) {
      names[c] = uint32_t(c);
    }
    std::ranges::shuffle(names, random_);
    ExtractionProblem problem;
    problem.classes.resize(classes);
    problem.roots = {names.back()};
    if (upTo(2) == 0) {
      problem.roots.push_back(names[size_t(upTo(int64_t(classes) - 1))]);
    }
    for (size_t c = 0; c != classes; ++c) {
      size_t count = upTo(15) == 0 ? 0 : size_t(upTo(int64_t(nodes) - 1)) + 1;
      for (size_t i = 0; i != count; ++i) {
        std::set<uint32_t> children;
        for (int64_t n = c ? upTo(3) : 0; n != 0; --n) {
          int64_t back = upTo(int64_t(std::min(reach, c)) - 1);
          children.insert(names[c - 1 - size_t(back)]);
        }
        problem.classes[names[c]].push_back(
            {upTo(cost), {children.begin(), children.end()}});
      }
    }
    return problem;
  }

  /// A root that reads so many `users`, each of which may pay much alone, or
  /// little on top of some of the `shared`, which pay much once, and some of
  /// which read others.
  ExtractionProblem drawTraps(uint32_t users, uint32_t shared) {
    ExtractionProblem problem;
    problem.classes.resize(1 + users + shared);
    problem.classes[0] = {{0, {}}};
    problem.roots = {0};
    auto someFrom = [&](uint32_t first) {
      std::vector<uint32_t> some;
      for (uint32_t c = first; c != 1 + users + shared; ++c) {
        if (upTo(2) == 0) {
          some.push_back(c);
        }
      }
      return some;
    };
    for (uint32_t c = 1; c != 1 + users + shared; ++c) {
      bool isUser = c <= users;
      problem.classes[c] = {{upTo(6) + (isUser ? 4 : 8), {}}};
      for (int i = 0; i != 2; ++i) {
        problem.classes[c].push_back(
            {upTo(4), someFrom(isUser ? 1 + users : c + 1)});
      }
      if (!isUser) {
        problem.classes[c].pop_back();
        problem.classes[c].back().cost += 5;
      } else {
        problem.classes[0][0].children.push_back(c);
      }
    }
    return problem;
  }

private:
  std::mt19937_64 random_;
};

/// Walks from the roots through all choices, and keeps what they cost.
class Enumerator {
public:
  explicit Enumerator(const ExtractionProblem &problem) : problem_(problem) {
    Extraction empty;
    empty.choice.resize(problem.classes.size());
    visit(empty, problem.roots);
  }

  std::vector<int64_t> costs() {
    std::ranges::sort(costs_);
    return costs_;
  }

private:
  /// `pending` is needed, and some of it may be taken.
  void visit(Extraction taken, std::vector<uint32_t> pending) {
    while (!pending.empty() && taken.choice[pending.back()]) {
      pending.pop_back();
    }
    if (pending.empty()) {
      return costs_.push_back(taken.cost);
    }
    uint32_t c = pending.back();
    for (uint32_t i = 0; i != problem_.classes[c].size(); ++i) {
      const ExtractionNode &node = problem_.classes[c][i];
      Extraction next = taken;
      next.choice[c] = i;
      next.cost += node.cost;
      std::vector<uint32_t> all = pending;
      all.insert(all.end(), node.children.begin(), node.children.end());
      visit(next, all);
    }
  }

  const ExtractionProblem &problem_;
  std::vector<int64_t> costs_;
};
} // namespace

/// Follows the choices from the roots: what is taken is what is needed, in no
/// circle, and costs what is said.
static void expectValid(const ExtractionProblem &problem,
                        const Extraction &extraction) {
  ASSERT_EQ(extraction.choice.size(), problem.classes.size());
  std::vector<int> state(problem.classes.size()); // 1: on the way, 2: done.
  int64_t cost = 0;
  std::function<void(uint32_t)> visit = [&](uint32_t c) {
    ASSERT_NE(state[c], 1) << "class " << c << " reads itself";
    if (state[c] == 2) {
      return;
    }
    state[c] = 1;
    ASSERT_TRUE(extraction.choice[c]) << "class " << c << " is missing";
    ASSERT_LT(*extraction.choice[c], problem.classes[c].size());
    const ExtractionNode &node = problem.classes[c][*extraction.choice[c]];
    cost += node.cost;
    std::ranges::for_each(node.children, visit);
    state[c] = 2;
  };
  std::ranges::for_each(problem.roots, visit);
  EXPECT_EQ(cost, extraction.cost);
  for (size_t c = 0; c != state.size(); ++c) {
    EXPECT_EQ(extraction.choice[c].has_value(), state[c] == 2) << c;
  }
}

/// What holds of all answers, complete or not.
static void expectSound(const ExtractionProblem &problem,
                        const ExtractionLimits &limits, const Extracted &got) {
  ASSERT_FALSE(got.best.empty());
  EXPECT_LE(got.best.size(), limits.answers);
  EXPECT_LE(got.bound, got.best.front().cost);
  EXPECT_LE(got.best.front().cost, got.greedy);
  EXPECT_EQ(extractGreedily(problem).cost, got.greedy);
  for (size_t i = 0; i != got.best.size(); ++i) {
    expectValid(problem, got.best[i]);
    EXPECT_LE(double(got.best[i].cost),
              limits.slack * double(got.best[0].cost));
    if (i != 0) {
      EXPECT_LT(std::tie(got.best[i - 1].cost, got.best[i - 1].choice),
                std::tie(got.best[i].cost, got.best[i].choice));
    }
  }
}

static std::string errorOf(const ExtractionProblem &problem) {
  Expected<Extracted> got = extract(problem);
  EXPECT_FALSE(got);
  EXPECT_EQ(got.status().code(), ExitCode::Invalid);
  Extraction greedy = extractGreedily(problem);
  EXPECT_TRUE(std::ranges::none_of(greedy.choice, [](auto c) { return !!c; }));
  return got.status().message();
}

TEST(Extract, AnswersAreTheCheapestOfAllExtractions) {
  size_t solved = 0, dearerGreedy = 0, exhausted = 0;
  for (int round = 0; round < test::sampleSize(1000); ++round) {
    SCOPED_TRACE(round);
    Drawer drawer(uint64_t(round) + 1);
    // Costs that are equal, small, and too large for doubles of HiGHS.
    int64_t cost = std::array<int64_t, 4>{2, 20, 1000, 1LL << 40}[round % 4];
    ExtractionProblem problem =
        drawer.draw(size_t(drawer.upTo(7)) + 2, 3, 9, cost);
    ExtractionLimits limits;
    limits.answers = size_t(drawer.upTo(9)) + 1;
    limits.slack = round % 3 == 0 ? 1.25 : 1e6;
    std::vector<int64_t> all = Enumerator(problem).costs();
    if (all.empty()) {
      EXPECT_NE(errorOf(problem).find("is a root and cannot be computed: each "
                                      "of its nodes needs a class that has"),
                std::string::npos);
      continue;
    }
    Expected<Extracted> got = extract(problem, limits);
    ASSERT_TRUE(got) << got.status().message();
    EXPECT_TRUE(got->isComplete);
    expectSound(problem, limits, *got);
    std::vector<int64_t> costs, expected;
    for (const Extraction &answer : got->best) {
      costs.push_back(answer.cost);
    }
    for (int64_t cost : all) {
      if (expected.size() != limits.answers &&
          double(cost) <= limits.slack * double(all[0])) {
        expected.push_back(cost);
      }
    }
    EXPECT_EQ(costs, expected);
    EXPECT_GE(double(got->bound), 0.999 * double(all[0]) - 1);
    ++solved;
    dearerGreedy += got->greedy > all[0];
    exhausted += all.size() < limits.answers;
  }
  // That the rounds try what they are to try.
  EXPECT_GT(solved, size_t(test::sampleSize(500)));
  EXPECT_GT(dearerGreedy, 0u);
  EXPECT_GT(exhausted, 0u);
}

TEST(Extract, TheBestIsFoundWhereManyNodesHaveToChangeAtOnce) {
  size_t dearerGreedy = 0;
  for (int round = 0; round < test::sampleSize(500); ++round) {
    SCOPED_TRACE(round);
    ExtractionProblem problem = Drawer(uint64_t(round) + 1).drawTraps(5, 4);
    std::vector<int64_t> all = Enumerator(problem).costs();
    ExtractionLimits limits;
    limits.answers = 1;
    Expected<Extracted> got = extract(problem, limits);
    ASSERT_TRUE(got) << got.status().message();
    expectSound(problem, limits, *got);
    EXPECT_TRUE(got->isComplete);
    EXPECT_EQ(got->best.front().cost, all[0]);
    EXPECT_EQ(got->bound, all[0]);
    dearerGreedy += got->greedy > all[0];
  }
  EXPECT_GT(dearerGreedy, size_t(test::sampleSize(100)));
}

TEST(Extract, LargeOnesAreNoDearerThanGreedyAndTheSameEachTime) {
  for (int round = 0; round < test::sampleSize(40); ++round) {
    SCOPED_TRACE(round);
    Drawer drawer(uint64_t(round) + 1);
    ExtractionProblem problem = drawer.draw(200, 4, 20, 1000);
    ExtractionLimits limits;
    limits.answers = 4;
    Expected<Extracted> got = extract(problem, limits);
    if (!got) {
      continue; // A root that cannot be computed.
    }
    expectSound(problem, limits, *got);
    Expected<Extracted> again = extract(problem, limits);
    EXPECT_EQ(got->best, again->best);
    EXPECT_EQ(got->bound, again->bound);
    EXPECT_EQ(got->iterations, again->iterations);
    // What the slack leaves out is what costs more, and nothing else.
    limits.slack = 1.002;
    int64_t least = got->best.front().cost;
    Expected<Extracted> tight = extract(problem, limits);
    std::erase_if(got->best, [&](const Extraction &answer) {
      return double(answer.cost) > limits.slack * double(least);
    });
    EXPECT_EQ(tight->isComplete, got->isComplete);
    EXPECT_EQ(tight->best.size(), got->best.size());
  }
}

TEST(Extract, GivesTheBestSoFarWhereALimitIsMet) {
  size_t incomplete = 0, several = 0;
  for (int round = 0; round < test::sampleSize(40, 6); ++round) {
    SCOPED_TRACE(round);
    Drawer drawer(uint64_t(round) + 1);
    ExtractionProblem problem = drawer.draw(200, 4, 20, 1000);
    Expected<Extracted> whole = extract(problem);
    for (auto [nodes, iterations] :
         {std::pair<int64_t, int64_t>{0, 1'000'000}, {1, 100}, {100, 0}}) {
      ExtractionLimits limits;
      limits.nodes = nodes;
      limits.iterations = iterations;
      Expected<Extracted> got = extract(problem, limits);
      if (!got) {
        continue;
      }
      expectSound(problem, limits, *got);
      EXPECT_LE(got->bound, whole->best.front().cost);
      if (iterations == 0) {
        EXPECT_FALSE(got->isComplete);
        EXPECT_EQ(got->iterations, 0);
      }
      incomplete += !got->isComplete;
      several += !got->isComplete && got->best.size() > 1;
    }
  }
  EXPECT_GT(incomplete, 0u);
  EXPECT_GT(several, 0u);
}

TEST(Extract, ASharedClassIsPaidForOnce) {
  // The example of Extract.h: if d were paid for twice, a would be cheaper.
  ExtractionProblem problem{
      {{{8, {1}}, {1, {2, 3}}}, {{0, {}}}, {{2, {4}}}, {{2, {4}}}, {{2, {}}}},
      {0}};
  Expected<Extracted> got = extract(problem);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->best.front().cost, 7);
  EXPECT_EQ(got->best.front().choice,
            (std::vector<std::optional<uint32_t>>{1, {}, 0, 0, 0}));
  ASSERT_EQ(got->best.size(), 2u); // 8 is within the slack.
  EXPECT_EQ(got->best.back().cost, 8);
  EXPECT_EQ(got->greedy, 7);
  EXPECT_EQ(got->bound, 7);
  EXPECT_TRUE(got->isComplete);
}

TEST(Extract, FindsSharingBetweenClassesThatGreedyMisses) {
  // Both a and b are cheaper by a way of their own than by d, which both read.
  ExtractionProblem problem{
      {{{0, {1, 2}}}, {{5, {}}, {1, {3}}}, {{5, {}}, {1, {3}}}, {{6, {}}}},
      {0}};
  Expected<Extracted> got = extract(problem);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->greedy, 10);
  EXPECT_EQ(got->best.front().cost, 8);
  EXPECT_EQ(got->bound, 8);
}

TEST(Extract, NothingIsNeededWithoutRoots) {
  Expected<Extracted> got = extract({{{{5, {}}}}, {}});
  ASSERT_TRUE(got);
  ASSERT_EQ(got->best.size(), 1u);
  EXPECT_EQ(got->best.front().cost, 0);
  EXPECT_FALSE(got->best.front().choice[0]);
  EXPECT_TRUE(got->isComplete);
}

TEST(Extract, AnEquallyCheapNodeThatReadsMoreIsAnotherAnswer) {
  ExtractionProblem problem{{{{4, {1}}, {4, {1, 2}}}, {{1, {}}}, {{0, {}}}},
                            {0}};
  Expected<Extracted> got = extract(problem);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->best.size(), 2u);
  EXPECT_EQ(got->best[0].choice[0], 0u);
  EXPECT_EQ(got->best[1].choice[0], 1u);
  EXPECT_EQ(got->best[1].cost, 5);
}

TEST(Extract, RefusesWhatIsNoProblem) {
  EXPECT_EQ(errorOf({{{{-1, {}}}}, {0}}),
            "node 0 of class 0 costs -1, expected a cost of at least 0");
  EXPECT_EQ(errorOf({{{{1, {1}}}}, {0}}),
            "node 0 of class 0 reads class 1, expected one of the 1 classes "
            "that there are");
  EXPECT_EQ(errorOf({{{{1, {1, 1}}}, {{1, {}}}}, {0}}),
            "node 0 of class 0 reads class 1 twice, expected each class once");
  EXPECT_EQ(errorOf({{{{1, {}}}}, {3}}),
            "class 3 is a root, expected one of the 1 classes that there are");
  EXPECT_EQ(errorOf({{{{INT64_MAX, {}}}, {{1, {}}}}, {0}}),
            "the costs of an extraction may be more than int64 holds; count "
            "them in a larger unit");
  EXPECT_EQ(errorOf({{{{1, {1}}}, {}}, {0}}),
            "class 0 is a root and cannot be computed: each of its nodes needs "
            "a class that has none");
  EXPECT_EQ(errorOf({{{{1, {1}}}, {{1, {}}, {1, {2}}}, {{1, {1}}}}, {0}}),
            "classes read each other in a circle, 1 -> 2 -> 1; expected an "
            "acyclic e-graph");
}
