//===- Problem.h - The planning problem and its check -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every node (an operator, a global, an input) takes one of its strategies.
// That costs time at the node and, through a matrix, along every edge between
// two nodes; and it uses memory while the node is live. The goal is the
// cheapest choice that stays within the memory limit at every time:
//
//   w  {replicated, split}      usages {8, 4}  live [0, 10)
//   mm {whole, m@x, n@x}        costs {9, 5, 5}
//   edge w -> mm                [[0, 0, 0],        row-major: a row for each
//                                [7, 7, 0]]        strategy of w
//
// Memory is of one resource or more (one for each group of devices), each
// each with its own limit; a problem of one resource needs no more than
// above. Memory may be released and used again: then there are several
// intervals.
//
// Many edges share a matrix (a model's layers are alike), so matrices are kept
// once and edges refer to them. Costs are nanoseconds and usages bytes, but
// nothing here depends on that.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_PROBLEM_H
#define DIVISI_SEARCH_PROBLEM_H

#include "divisi/Search/Certificate.h"
#include "divisi/Support/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divisi::search {

/// Sums of costs and usages: 64 bits overflow when infeasible pairs meet.
using Wide = __int128;

/// The cost of what must not be chosen; anything from here on is infeasible.
inline constexpr int64_t kInfeasible = 1'000'000'000'000'000'000;

/// Half-open [begin, end) in positions of the program; empty when equal.
struct Lifetime {
  int64_t begin = 0; ///< At least 0.
  int64_t end = 0;   ///< At least `begin`.
  friend bool operator==(Lifetime, Lifetime) = default;
};

/// What takes one of its strategies: an operator, a global, an input.
struct Node {
  std::string name;                    ///< For people; may be empty.
  std::vector<std::string> strategies; ///< Names; empty, or as many as costs.
  std::vector<int64_t> costs;          ///< At least one.
  std::vector<int64_t> usages;         ///< As many as costs; of resource 0.
  Lifetime live;                       ///< When usages count.
  /// And when again: each begins when the one before has ended, or later.
  std::vector<Lifetime> moreLives;
  /// Of resources 1, 2, …: as many as costs, or empty for none; those at the
  /// end may be left out.
  std::vector<std::vector<int64_t>> moreUsages;
  friend bool operator==(const Node &, const Node &) = default;
};

/// Row-major over (strategies of `from`) x (strategies of `to`).
struct Matrix {
  uint32_t rows = 0, columns = 0; ///< Strategies of `from` and of `to`.
  std::vector<int64_t> entries;   ///< rows * columns of them.
  /// The entry of two strategies.
  int64_t at(uint32_t row, uint32_t column) const {
    return entries[size_t(row) * columns + column];
  }
  friend bool operator==(const Matrix &, const Matrix &) = default;
};

/// A cost of two nodes together; several edges may join the same two.
struct Edge {
  uint32_t from = 0, to = 0; ///< Nodes; they may be the same.
  uint32_t costs = 0;        ///< Index into Problem::matrices.
  /// Memory that exists only while this edge is walked (a buffer of a
  /// collective): an index into Problem::matrices, and when it counts.
  std::optional<uint32_t> usages;
  Lifetime live;
  std::vector<Lifetime> moreLives; ///< As those of a Node.
  /// The same as `usages` of resources 1, 2, …; those at the end may be left
  /// out.
  std::vector<std::optional<uint32_t>> moreUsages;
  friend bool operator==(const Edge &, const Edge &) = default;
};

/// Memory of one kind: that of devices of one group.
struct Resource {
  std::string name;             ///< For people; may be empty.
  std::optional<int64_t> limit; ///< At every time; none: no limit.
  friend bool operator==(const Resource &, const Resource &) = default;
};

/// All that a solver is told.
struct Problem {
  std::string name;             ///< For people; may be empty.
  std::vector<Node> nodes;      ///< In the program's order.
  std::vector<Edge> edges;      ///< In any order.
  std::vector<Matrix> matrices; ///< Of the edges' costs and usages.
  /// Of resource 0, at every time; none: no limit.
  std::optional<int64_t> usageLimit;
  std::string resource;                ///< The name of resource 0.
  std::vector<Resource> moreResources; ///< Resources 1, 2, ….
  friend bool operator==(const Problem &, const Problem &) = default;

  /// At least one.
  uint32_t numResources() const { return uint32_t(moreResources.size()) + 1; }
  /// The name of a resource; may be empty.
  const std::string &nameOf(uint32_t resource) const {
    return resource == 0 ? this->resource : moreResources[resource - 1].name;
  }
  /// The limit of a resource, or none.
  std::optional<int64_t> limitOf(uint32_t resource) const {
    return resource == 0 ? usageLimit : moreResources[resource - 1].limit;
  }
  /// Whether any resource has a limit.
  bool isLimited() const;
};

/// ` of resource 1 ('v100')`, for messages; nothing where there is one alone.
std::string ofResource(const Problem &problem, uint32_t resource);

/// Calls `use` with each resource of which `node` uses memory, and its usages.
template <typename Use> void forEachUsage(const Node &node, Use use) {
  uint32_t resource = 0;
  use(resource, node.usages);
  for (const std::vector<int64_t> &usages : node.moreUsages) {
    ++resource;
    if (!usages.empty()) {
      use(resource, usages);
    }
  }
}
/// The same of an edge, with the index of the matrix.
template <typename Use> void forEachUsage(const Edge &edge, Use use) {
  uint32_t resource = 0;
  if (edge.usages) {
    use(resource, *edge.usages);
  }
  for (std::optional<uint32_t> matrix : edge.moreUsages) {
    ++resource;
    if (matrix) {
      use(resource, *matrix);
    }
  }
}

/// Calls `use` with each interval in which usages of a node or an edge count.
template <typename NodeOrEdge, typename Use>
void forEachLife(const NodeOrEdge &user, Use use) {
  use(user.live);
  for (Lifetime again : user.moreLives) {
    use(again);
  }
}

/// What is wrong with `problem`, or nothing: sizes that disagree, indices out
/// of range, intervals that begin below zero or end before they begin, or that
/// begin before the one before has ended, usages below zero or of a resource
/// that there is not, costs not above -kInfeasible.
std::optional<std::string> validate(const Problem &problem);

/// The most memory that is in use at once.
struct Peak {
  Wide usage = 0;   ///< The largest at any time.
  int64_t time = 0; ///< The first time of it.
  friend bool operator==(const Peak &, const Peak &) = default;
};

/// One strategy for each node, and what it costs.
struct Solution {
  std::vector<uint32_t> assignment; ///< A strategy of each node.
  Wide cost = 0;                    ///< Of all nodes and edges.
  Wide peak = 0;                    ///< The largest usage of resource 0.
  int64_t peakTime = 0;             ///< The first time of it.
  std::vector<Peak> morePeaks;      ///< Of resources 1, 2, ….
  Wide lowerBound = 0;              ///< No assignment costs less.
  /// Why. Without it `lowerBound` is at most trivialLowerBound().
  Certificate certificate;

  /// The peak of a resource.
  Peak peakOf(uint32_t resource) const {
    return resource == 0 ? Peak{peak, peakTime} : morePeaks[resource - 1];
  }
};

/// By how much a peak is above a limit.
struct Excess {
  uint32_t resource = 0; ///< Of the problem.
  Peak peak;             ///< Of that resource.
  Wide excess = 0;       ///< Above the limit of it.
};

/// The resource of which `solution` uses most above its limit, or nothing if it
/// is within all limits.
std::optional<Excess> exceeded(const Problem &problem,
                               const Solution &solution);

/// Computes cost, peaks and lower bound of `assignment`, which must fit.
Solution evaluate(const Problem &problem, std::vector<uint32_t> assignment);

/// The sum of the least cost of every node and edge: true of any problem.
Wide trivialLowerBound(const Problem &problem);

/// Recomputes everything that `solution` says, sharing no code with the solvers
/// or with `evaluate`. What is wrong, or nothing: an assignment that does not
/// fit, an infeasible choice, a limit exceeded, a cost or peak that differs, a
/// bound that differs from what its certificate gives or is above the cost.
std::optional<std::string> check(const Problem &problem,
                                 const Solution &solution);

/// The bound that `certificate` proves: no assignment within the limits costs
/// less. Nothing if no assignment is within the limits at all. Fails if a
/// deduction is not justified, the tree is malformed or missing, or 128 bits
/// overflow.
Expected<std::optional<Wide>> provedBound(const Problem &problem,
                                          const Certificate &certificate);

/// Decimal, since the library prints no 128-bit integers.
std::string toString(Wide value);

} // namespace divisi::search

#endif // DIVISI_SEARCH_PROBLEM_H
