//===- CostGraph.h - The compiled problem that solvers work on --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pairwise graphical model with knapsack rows: variables with states, a table
// of costs for each pair of variables that are joined, and for each time that
// can bind a capacity. It is flat, padded and in floating point; exact numbers
// are recomputed from the Problem (evaluate, Certify.h). The same type serves
// for the whole problem and for the sub-problems of neighbourhoods and
// branches, so every solver works on both.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_GRAPH_COSTGRAPH_H
#define DIVISI_LIB_SEARCH_GRAPH_COSTGRAPH_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace divisi::search {

/// One state for each variable of a graph.
using Assignment = std::vector<uint32_t>;

/// What infeasible costs are in a graph; anything from kForbidden on is.
inline constexpr double kTop = 1e24;
inline constexpr double kForbidden = 1e21;

/// Rows of tables and messages are padded to a multiple of this.
inline constexpr uint32_t kLanes = 8;
/// `states`, rounded up to a multiple of kLanes.
inline uint32_t padded(uint32_t states) {
  return (states + kLanes - 1) / kLanes * kLanes;
}

/// A hash of what `hash` is of, and then `value`.
inline uint64_t mixHash(uint64_t hash, double value) {
  hash = (hash ^ std::bit_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 29);
}

/// The costs of a pair of variables. Rows are states of the first.
///
/// A variable of many members has states that differ for one neighbour and are
/// the same for another, so rows repeat, and columns: message passing works on
/// those that differ.
struct Table {
  uint32_t rows = 0, columns = 0; ///< States of the first and of the second.
  std::vector<double> exact;      ///< rows x columns.
  /// For each row, and column, its number among those that differ; empty if
  /// they all do.
  std::vector<uint32_t> rowClass, columnClass;
  uint32_t distinctRows = 0, distinctColumns = 0;
  /// Rows x padded columns, and columns x padded rows, that differ; kTop
  /// beyond.
  std::vector<float> rounded, transposed;
  bool hard = false; ///< Has infeasible entries.
  /// The cost of two states.
  double at(uint32_t row, uint32_t column) const {
    return exact[size_t(row) * columns + column];
  }
  /// Fills the rest from `exact`.
  void round();
};

/// Numbers that many may share: layers of a network use memory alike.
class SharedNumbers {
public:
  /// None.
  SharedNumbers() : SharedNumbers(std::vector<double>()) {}
  explicit SharedNumbers(std::vector<double> numbers)
      : numbers_(
            std::make_shared<const std::vector<double>>(std::move(numbers))) {}
  double operator[](size_t index) const { return (*numbers_)[index]; }
  /// How many there are.
  size_t size() const { return numbers_->size(); }
  /// Iterates over them.
  auto begin() const { return numbers_->begin(); }
  /// Behind the last.
  auto end() const { return numbers_->end(); }
  /// The same for all that share.
  const void *identity() const { return numbers_.get(); }
  friend bool operator==(const SharedNumbers &a, const SharedNumbers &b) {
    return a.numbers_ == b.numbers_ || *a.numbers_ == *b.numbers_;
  }

private:
  std::shared_ptr<const std::vector<double>> numbers_;
};

/// Memory that depends on one variable, or on a pair: `usages` while [begin,
/// end), in positions of CostGraph::capacity. The least usage is taken off.
struct Usage {
  uint32_t begin = 0, end = 0; ///< Positions of CostGraph::capacity.
  SharedNumbers usages;        ///< One for each state, or as Table::exact.
  friend bool operator==(const Usage &, const Usage &) = default;
};

/// What some choice uses: `least` whatever is chosen, and what varies.
struct Amounts {
  double least = 0;   ///< In bytes.
  SharedNumbers more; ///< Empty if nothing varies.
  /// Takes `bytes` apart.
  static Amounts of(std::vector<double> bytes);
};

/// Adds memory that is used while [begin, end) to `usages`. The least is used
/// whatever is chosen: it goes to `taken`, a sum over time as differences, and
/// only what varies stays with the states.
void addUsage(std::vector<Usage> &usages, uint32_t begin, uint32_t end,
              const Amounts &bytes, std::vector<double> &taken);

/// A pair of variables, first < second.
struct Pair {
  uint32_t first = 0, second = 0;     ///< Variables.
  std::shared_ptr<const Table> table; ///< Shared by pairs of equal costs.
  std::vector<Usage> usages;          ///< Transient memory; usually none.
  double weight = 1; ///< How many pairs of another graph it stands for.
};

/// What decides: a node, or several nodes that decide together.
struct Variable {
  std::vector<double> costs; ///< One for each state.
  std::vector<Usage> usages; ///< What of it takes memory.
};

/// The compiled problem: see above.
struct CostGraph {
  std::vector<Variable> variables; ///< In the program's order.
  std::vector<Pair> pairs;         ///< Sorted, each two variables at most once.
  /// Pairs of each variable: those with a smaller partner first.
  std::vector<std::vector<uint32_t>> pairsOf;
  /// For each time that can bind, the limit less what is used anyhow.
  std::vector<double> capacity;
  double constant = 0; ///< Of what is fixed.

  /// How many states a variable has.
  uint32_t numStates(uint32_t variable) const {
    return uint32_t(variables[variable].costs.size());
  }
  /// Entries of all tables that differ, and states of their ends: the work of
  /// half a round of message passing.
  int64_t numEntries() const;

  /// Fills `pairsOf`.
  void index();
};

/// Forgets the times that cannot bind: where even the greatest usages fit, and
/// where nothing is used that is not used at a neighbour of no more capacity.
/// Merges usages that then have the same lifetime. Returns the positions that
/// are kept.
std::vector<uint32_t> keepBindingTimes(CostGraph &graph);

/// What an assignment costs and by how much it exceeds the capacity.
struct Value {
  double cost = 0;   ///< kForbidden or more if infeasible.
  double excess = 0; ///< Sum over times.
  /// Within the capacity, with no infeasible cost.
  bool feasible() const { return excess <= 0 && cost < kForbidden; }
};

/// The cost of an assignment; kForbidden or more if infeasible.
double costOf(const CostGraph &graph, const Assignment &assignment);
/// The usage at each time, less capacity.
void excessOf(const CostGraph &graph, const Assignment &assignment,
              std::vector<double> &excess);
/// Cost and excess of an assignment.
Value valueOf(const CostGraph &graph, const Assignment &assignment);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_GRAPH_COSTGRAPH_H
