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
// two nodes; and it uses memory while the node lives. Wanted is the cheapest
// choice that stays within the memory limit at every time:
//
//   w  {replicated, split}      usages {8, 4}  live [0, 10)
//   mm {whole, m@x, n@x}        costs {9, 5, 5}
//   edge w -> mm                [[0, 0, 0],        row-major: a row for each
//                                [7, 7, 0]]        strategy of w
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
  std::vector<int64_t> usages;         ///< As many as costs.
  Lifetime live;                       ///< When `usages` count.
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
  friend bool operator==(const Edge &, const Edge &) = default;
};

/// All that a solver is told.
struct Problem {
  std::string name;                  ///< For people; may be empty.
  std::vector<Node> nodes;           ///< In the program's order.
  std::vector<Edge> edges;           ///< In any order.
  std::vector<Matrix> matrices;      ///< Of the edges' costs and usages.
  std::optional<int64_t> usageLimit; ///< At every time; none: no limit.
  friend bool operator==(const Problem &, const Problem &) = default;
};

/// What is wrong with `problem`, or nothing: sizes that disagree, indices out
/// of range, intervals that begin below zero or end before they begin, usages
/// below zero, costs not above -kInfeasible.
std::optional<std::string> validate(const Problem &problem);

/// One strategy for each node, and what it costs.
struct Solution {
  std::vector<uint32_t> assignment; ///< A strategy of each node.
  Wide cost = 0;                    ///< Of all nodes and edges.
  Wide peak = 0;                    ///< The largest usage at any time.
  int64_t peakTime = 0;             ///< The first time of it.
  Wide lowerBound = 0;              ///< No assignment costs less.
  /// Why. Without it `lowerBound` is at most trivialLowerBound().
  Certificate certificate;
};

/// Computes cost, peak and lower bound of `assignment`, which must fit.
Solution evaluate(const Problem &problem, std::vector<uint32_t> assignment);

/// The sum of the least cost of every node and edge: true of any problem.
Wide trivialLowerBound(const Problem &problem);

/// Recomputes everything that `solution` says, sharing no code with the solvers
/// or with `evaluate`. What is wrong, or nothing: an assignment that does not
/// fit, an infeasible choice, a limit exceeded, a cost or peak that differs, a
/// bound that differs from what its certificate gives or is above the cost.
std::optional<std::string> check(const Problem &problem,
                                 const Solution &solution);

/// The bound that `certificate` proves: no assignment within the limit costs
/// less. Nothing if no assignment is within the limit at all. Fails if a
/// deduction is not justified, the tree is malformed or missing, or 128 bits
/// overflow.
Expected<std::optional<Wide>> provedBound(const Problem &problem,
                                          const Certificate &certificate);

/// Decimal, since the library prints no 128-bit integers.
std::string toString(Wide value);

} // namespace divisi::search

#endif // DIVISI_SEARCH_PROBLEM_H
