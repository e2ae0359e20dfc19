//===- RandomProblems.h - Small problems, and their answers -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Seeded problems of every shape and with every oddity that the contract
// allows, and what tries all assignments of one. The latter is the reference
// for all solvers: it has no idea of its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_RANDOMPROBLEMS_H
#define DIVISI_TEST_SEARCH_RANDOMPROBLEMS_H

#include "divisi/Search/Problem.h"

#include <random>

namespace divisi::search {

/// Which nodes edges join.
enum class Shape : uint8_t {
  Chain,
  Tree,
  Grid,
  Dense,
  Program,     ///< Each node reads up to two earlier ones.
  Permutation, ///< A grid in which most edges allow one partner a strategy.
  Parallel,    ///< Few nodes, several edges between two, to itself, backwards.
};
/// All of them.
inline constexpr Shape kShapes[] = {
    Shape::Chain,   Shape::Tree,        Shape::Grid,    Shape::Dense,
    Shape::Program, Shape::Permutation, Shape::Parallel};
/// A name for tests.
const char *toString(Shape shape);

/// How a limit relates to the problem.
enum class LimitKind : uint8_t {
  None,
  Loose,      ///< The cheapest assignment is within it.
  Tight,      ///< Between the least peak and that of the cheapest.
  JustEnough, ///< The least peak.
  TooSmall,   ///< One less than the least peak.
  Hopeless,   ///< Half of the least peak.
};
/// All of them.
inline constexpr LimitKind kLimitKinds[] = {
    LimitKind::None,       LimitKind::Loose,    LimitKind::Tight,
    LimitKind::JustEnough, LimitKind::TooSmall, LimitKind::Hopeless};

/// Random numbers that are the same everywhere.
class Dice {
public:
  /// Any seed will do.
  explicit Dice(uint64_t seed) : engine_(seed) {}
  /// In [0, bound), which is above 0.
  template <typename Integer> Integer below(Integer bound) {
    return Integer(engine_() % uint64_t(bound));
  }
  /// In [low, high].
  int between(int low, int high) {
    return int(low + below(int64_t(high) - low + 1));
  }
  /// True once in `count` times.
  bool oneIn(unsigned count) { return below(count) == 0; }

private:
  std::mt19937_64 engine_;
};

/// What trying all assignments tells.
struct Reference {
  std::optional<Wide> optimum; ///< Of those within the limit.
  std::vector<uint32_t> assignment;
  std::optional<Wide> leastPeak;  ///< Whatever the limit.
  std::optional<Wide> peakOfBest; ///< Of the cheapest, whatever the limit.
};

/// The cost of `chosen`, or nothing if it is infeasible; never asks the limit.
std::optional<Wide> costOf(const Problem &problem,
                           const std::vector<uint32_t> &chosen);
/// The largest usage of `chosen`, of a resource.
Wide peakOf(const Problem &problem, const std::vector<uint32_t> &chosen,
            uint32_t resource = 0);

/// Tries everything. Only limits of resource 0 may be exceeded by what is told
/// of peaks.
Reference bruteForce(const Problem &problem);

/// A problem without limit of at most `maxAssignments` assignments.
Problem randomProblem(Shape shape, uint64_t seed,
                      uint64_t maxAssignments = 3000);

/// The least peak of a resource among assignments that are within the limits of
/// the others; nothing if there is none.
std::optional<Wide> leastPeak(const Problem &problem, uint32_t resource);

/// Up to two further resources, most of them with a limit, and further
/// intervals in which nodes and edges live.
Problem withMoreMemory(Problem problem, uint64_t seed);

/// A problem with a limit of some kind, and seldom of none: one of each shape
/// and kind of limit in turn, as `seed` counts; withMoreMemory() if `enrich`.
Problem limitedProblem(uint64_t seed, uint64_t maxAssignments,
                       bool enrich = false);

/// What evaluate() says of the cheapest assignment within the limit, which
/// trying all of them finds; nothing if there is none.
std::optional<Solution> cheapest(const Problem &problem);

/// The limit of that kind, given what `reference` knows of the problem without
/// one; none if no assignment exists.
std::optional<int64_t> limitOf(LimitKind kind, const Reference &reference,
                               Dice &dice);

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_RANDOMPROBLEMS_H
