//===- Elimination.h - Bucket elimination -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bucket elimination (R. Dechter, "Bucket elimination: a unifying framework for
// reasoning", Artificial Intelligence 113, 1999). A sum of functions of few
// variables is minimised over one variable after another; each leaves a
// function of those that it met:
//
//   f(a, b) + g(b, c) + h(c)     eliminate c:  m(b) = min over c of g + h
//   f(a, b) + m(b)               eliminate b:  n(a) = min over b of f + m
//
// Where such a function would be too large, the functions in the bucket are
// minimised in groups (mini-buckets; R. Dechter, I. Rish, 2003): then the sum
// of what is left is a lower bound. Either way it guides a search that assigns
// the variables in the opposite order (K. Kask, R. Dechter, 2001):
//
//   bound of a prefix = its bound so far + what rows() adds for the next state
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_EXACT_ELIMINATION_H
#define DIVISI_LIB_SEARCH_EXACT_ELIMINATION_H

#include "lib/Search/Run/Budget.h"

#include <span>

namespace divisi::search {

/// What infeasible entries count as, and from where a sum holds one. A million
/// of them still fit, and a million finite ones stay below.
inline constexpr Wide kForbiddenWide = Wide(1) << 104;
inline constexpr Wide kForbiddenWideSum = kForbiddenWide >> 1;

/// A function of some variables; the last one's state varies fastest.
struct Factor {
  std::vector<uint32_t> scope; ///< The variables.
  std::vector<Wide> values;    ///< One for each of their states together.
};

/// Every variable once, first those whose elimination joins the fewest pairs
/// that nothing joined yet. `pairs` may repeat. Incomplete if `budget` ends.
std::vector<uint32_t>
minFillOrder(size_t numVariables,
             std::span<const std::pair<uint32_t, uint32_t>> pairs,
             Budget &budget);

/// The entries of the largest table and of all tables when variables with
/// `sizes` states are eliminated exactly in `order`; doubles, since they soon
/// leave any integer.
struct TableSizes {
  double largest = 1, total = 0; ///< In entries.
};
/// The sizes above, without eliminating anything.
TableSizes tableSizes(std::span<const uint32_t> sizes,
                      std::span<const uint32_t> order,
                      std::span<const std::pair<uint32_t, uint32_t>> pairs);

/// The tables that are left when all variables are eliminated.
class Elimination {
public:
  /// Eliminates all variables in `order`. No table gets more than `maxTable`
  /// entries, unless a factor alone needs that. If `budget` runs out on the
  /// way, nothing but finished() may be asked.
  Elimination(std::span<const uint32_t> sizes, std::span<const uint32_t> order,
              std::vector<Factor> factors, double maxTable, Budget &budget);

  /// Whether the budget sufficed.
  bool finished() const { return finished_; }
  /// A lower bound of the sum; the minimum if no bucket was split. From
  /// kForbiddenWideSum on it says that every assignment is infeasible.
  Wide bound() const { return bound_; }

  /// For each state of `variable`, what it adds to the bound of a prefix: the
  /// states of all variables that come later in `order`, whose bound must be
  /// below kForbiddenWideSum.
  void rows(uint32_t variable, std::span<const uint32_t> prefix,
            std::vector<Wide> &added, Budget &budget) const;

private:
  /// A table in the bucket of the first variable of its scope to go; the scope
  /// is sorted so that this variable is last.
  struct Table {
    std::vector<uint32_t> scope;
    std::vector<size_t> strides;
    std::vector<Wide> values;
  };
  using Group = std::vector<uint32_t>; ///< Indices into tables_.

  void add(Factor factor);
  std::vector<Group> split(const std::vector<uint32_t> &bucket) const;
  std::vector<uint32_t> joined(const Group &group) const;
  double entries(const std::vector<uint32_t> &scope) const;
  bool eliminate(uint32_t variable, const Group &group, Budget &budget);
  size_t offset(const Table &table, std::span<const uint32_t> states) const;

  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> position_; ///< Of each variable in the order.
  std::vector<Table> tables_;
  std::vector<std::vector<uint32_t>> buckets_; ///< Per variable: its tables.
  std::vector<std::vector<uint32_t>> sent_;    ///< Per variable: what it left.
  Wide bound_ = 0;
  double maxTable_;
  bool finished_ = false;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_EXACT_ELIMINATION_H
