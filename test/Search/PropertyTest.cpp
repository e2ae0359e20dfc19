//===- PropertyTest.cpp - Every solver on many small problems -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over two thousand problems, each of which trying all assignments solves. What
// every solver of the table says must agree with that, and with check().
//
//===----------------------------------------------------------------------===//

#include "CaseCount.h"
#include "RandomProblems.h"

#include "divisi/Search/Solvers.h"

#include <gtest/gtest.h>

using namespace divisi::search;

/// Shape and kind of limit: each pair has so many problems, of which a third
/// has more resources and intervals.
static constexpr uint64_t kSeeds = 72;

namespace {
struct Case {
  Problem problem;
  Reference reference;
};

class Property : public testing::TestWithParam<std::tuple<Shape, LimitKind>> {
protected:
  static void SetUpTestSuite() {
    cases_ = std::make_unique<CaseCount>("problems of all shapes and limits");
    enriched_ = std::make_unique<CaseCount>("of them, with more memory");
  }
  static void TearDownTestSuite() {
    cases_.reset();
    enriched_.reset();
  }

  /// Calls `body` with each problem of this shape and kind of limit.
  template <typename Body> void forEach(uint64_t stride, Body body) {
    auto [shape, kind] = GetParam();
    for (uint64_t seed = 0; seed < kSeeds; seed += stride) {
      Problem problem = randomProblem(shape, seed * 8 + uint64_t(kind));
      if (seed / 6 % 3 == 2) {
        problem = withMoreMemory(std::move(problem), seed);
        ++*enriched_;
      }
      ASSERT_EQ(validate(problem), std::nullopt) << problem.name;
      Reference reference = bruteForce(problem);
      Dice dice(seed);
      problem.usageLimit = limitOf(kind, reference, dice);
      if (problem.usageLimit) {
        reference = bruteForce(problem);
      }
      SCOPED_TRACE(
          problem.name + ", limit " +
          (problem.usageLimit ? std::to_string(*problem.usageLimit) : "none"));
      ++*cases_;
      body(Case{std::move(problem), std::move(reference)});
      if (HasFatalFailure()) {
        return;
      }
    }
  }

private:
  static std::unique_ptr<CaseCount> cases_, enriched_;
};

std::unique_ptr<CaseCount> Property::cases_, Property::enriched_;
} // namespace

/// The first solver has to prove what it says; the others may go on for ever,
/// so they get little.
static Options briefly(const Solver &solver, uint64_t seed) {
  Options options;
  options.seed = seed;
  options.work = &solver == solvers().data() ? 3'000'000 : 100'000;
  return options;
}

static std::string text(std::optional<Wide> value) {
  return value ? toString(*value) : "none";
}

/// What the contract says of any outcome.
static void expectTrue(const Case &given, const Outcome &outcome) {
  const Reference &reference = given.reference;
  switch (outcome.verdict) {
  case Verdict::Solved: {
    ASSERT_EQ(check(given.problem, outcome.solution), std::nullopt);
    ASSERT_TRUE(reference.optimum);
    EXPECT_GE(outcome.solution.cost, *reference.optimum);
    EXPECT_LE(outcome.solution.lowerBound, *reference.optimum)
        << "the bound is " << toString(outcome.solution.lowerBound)
        << ", the optimum " << text(reference.optimum);
    break;
  }
  case Verdict::Infeasible:
    EXPECT_FALSE(reference.optimum)
        << "there is an assignment of cost " << text(reference.optimum);
    EXPECT_FALSE(outcome.message.empty());
    break;
  case Verdict::NotFound:
    EXPECT_FALSE(outcome.message.empty());
    break;
  }
  if (!outcome.limitAtLeast && !outcome.limitEnough) {
    return;
  }
  // Nothing may fit even without this limit.
  std::optional<Wide> least = leastPeak(given.problem, outcome.resource);
  if (given.problem.numResources() == 1 || outcome.limitEnough) {
    ASSERT_TRUE(least);
  }
  if (outcome.limitAtLeast && least) {
    EXPECT_LE(*outcome.limitAtLeast, *least);
  }
  if (outcome.limitEnough) {
    EXPECT_GE(*outcome.limitEnough, *least);
  }
}

TEST_P(Property, ExactEqualsBruteForce) {
  forEach(1, [](const Case &given) {
    Outcome outcome = solveExact(given.problem);
    expectTrue(given, outcome);
    ASSERT_EQ(outcome.stopped, Stopped::Finished);
    const Reference &reference = given.reference;
    if (reference.optimum) {
      ASSERT_EQ(outcome.verdict, Verdict::Solved) << outcome.message;
      EXPECT_EQ(toString(outcome.solution.cost), text(reference.optimum));
      return;
    }
    ASSERT_EQ(outcome.verdict, Verdict::Infeasible) << outcome.message;
    if (given.problem.numResources() > 1) {
      // Which limit is to blame is not always one; but a time is told.
      EXPECT_FALSE(outcome.limitEnough);
      return;
    }
    // With a limit to blame, the smallest that would do; else none.
    EXPECT_EQ(outcome.limitAtLeast.has_value(),
              reference.leastPeak.has_value());
    EXPECT_EQ(outcome.limitAtLeast, outcome.limitEnough);
    EXPECT_EQ(outcome.time.has_value(), reference.leastPeak.has_value());
    if (outcome.limitEnough) {
      EXPECT_EQ(std::to_string(*outcome.limitEnough),
                text(reference.leastPeak));
    } else {
      EXPECT_EQ(outcome.message.find("whatever the memory limit"), 0u)
          << outcome.message;
    }
  });
}

/// Problems between two that a solver is run on: HiGHS takes milliseconds.
static uint64_t strideOf(const Solver &solver) {
  return solver.name == "ilp" ? 6 : 1;
}

TEST_P(Property, NoSolverSaysWhatIsNotSo) {
  for (const Solver &solver : solvers()) {
    SCOPED_TRACE(solver.name);
    forEach(strideOf(solver), [&](const Case &given) {
      Outcome outcome = solver.solve(given.problem, briefly(solver, 1));
      expectTrue(given, outcome);
      if (&solver == solvers().data()) {
        EXPECT_NE(outcome.verdict, Verdict::NotFound)
            << solver.name << " gave up: " << outcome.message;
      }
    });
  }
}

TEST_P(Property, SameSeedSameAnswerWithAnyNumberOfThreads) {
  for (const Solver &solver : solvers()) {
    SCOPED_TRACE(solver.name);
    forEach(6 * strideOf(solver), [&](const Case &given) {
      Options options = briefly(solver, 7);
      Outcome first = solver.solve(given.problem, options);
      Outcome again = solver.solve(given.problem, options);
      options.threads = 2;
      Outcome threads = solver.solve(given.problem, options);
      for (const Outcome &other : {again, threads}) {
        EXPECT_EQ(first.verdict, other.verdict);
        EXPECT_EQ(first.stopped, other.stopped);
        EXPECT_EQ(first.solution.assignment, other.solution.assignment);
        EXPECT_EQ(toString(first.solution.lowerBound),
                  toString(other.solution.lowerBound));
        EXPECT_EQ(first.solution.certificate, other.solution.certificate);
        EXPECT_EQ(first.work, other.work);
        EXPECT_EQ(first.message, other.message);
      }
    });
  }
}

/// Other answers that differ from `good` in one thing and are wrong.
static std::vector<Solution> mutated(const Case &given, const Solution &good,
                                     Dice &dice) {
  const Problem &problem = given.problem;
  std::vector<Solution> all(6, good);
  all[0].cost += dice.oneIn(2) ? 1 : -1;
  all[1].peak += dice.oneIn(2) ? 1 : -1;
  all[2].peakTime += 1 + int64_t(dice.below(3));
  all[3].lowerBound = *given.reference.optimum + 1;
  all[4].assignment.push_back(0);
  all[5].assignment.pop_back();
  for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
    size_t count = problem.nodes[v].costs.size();
    Solution other = good;
    other.assignment[v] = uint32_t(count);
    all.push_back(other);
    other.assignment[v] =
        uint32_t((good.assignment[v] + dice.below(count)) % count);
    // Costs may agree by chance, or strategies be the same.
    std::optional<Wide> cost = costOf(problem, other.assignment);
    if (!cost || *cost != good.cost ||
        peakOf(problem, other.assignment) != good.peak) {
      all.push_back(other);
    }
  }
  return all;
}

TEST_P(Property, CheckRefusesMutatedAnswers) {
  forEach(2, [&](const Case &given) {
    for (const Solver &solver : solvers()) {
      if (solver.name != "exact" && &solver != solvers().data()) {
        continue;
      }
      Outcome outcome = solver.solve(given.problem, briefly(solver, 1));
      if (outcome.verdict != Verdict::Solved) {
        continue;
      }
      Dice dice(given.problem.nodes.size());
      for (const Solution &wrong : mutated(given, outcome.solution, dice)) {
        EXPECT_NE(check(given.problem, wrong), std::nullopt) << solver.name;
      }
    }
  });
}

static std::string
nameOf(const testing::TestParamInfo<Property::ParamType> &info) {
  static constexpr const char *kLimits[] = {
      "NoLimit", "Loose", "Tight", "JustEnough", "TooSmall", "Hopeless"};
  return std::string(toString(std::get<0>(info.param))) +
         kLimits[size_t(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(RandomProblems, Property,
                         testing::Combine(testing::ValuesIn(kShapes),
                                          testing::ValuesIn(kLimitKinds)),
                         nameOf);

// The suite is worth what its problems are: all kinds have to occur.
TEST(RandomProblems, AreOfAllKinds) {
  int infeasible = 0, binding = 0, edgeUsages = 0, single = 0, empty = 0,
      selfEdges = 0, backwards = 0, negative = 0, huge = 0, count = 0;
  for (Shape shape : kShapes) {
    for (uint64_t seed = 0; seed != 100; ++seed) {
      Problem problem = randomProblem(shape, seed);
      Reference reference = bruteForce(problem);
      ++count;
      infeasible += !reference.optimum;
      binding +=
          reference.optimum && *reference.leastPeak < *reference.peakOfBest;
      negative += reference.optimum && *reference.optimum < 0;
      huge += reference.optimum && *reference.optimum > kInfeasible;
      for (const Node &node : problem.nodes) {
        single += node.costs.size() == 1;
        empty += node.live.begin == node.live.end;
      }
      for (const Edge &edge : problem.edges) {
        edgeUsages += edge.usages.has_value();
        selfEdges += edge.from == edge.to;
        backwards += edge.from > edge.to;
      }
    }
  }
  EXPECT_GE(std::size(kShapes) * std::size(kLimitKinds) * kSeeds, 2000u);
  EXPECT_GT(infeasible, count / 20);
  EXPECT_LT(infeasible, count / 2);
  EXPECT_GT(binding, count / 3);
  for (int seen :
       {negative, huge, single, empty, edgeUsages, selfEdges, backwards}) {
    EXPECT_GT(seen, 10);
  }
}
