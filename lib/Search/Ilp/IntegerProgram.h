//===- IntegerProgram.h - The problem as rows and columns -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integer program of Alpa (L. Zheng et al., "Alpa: Automating Inter- and
// Intra-Operator Parallelism for Distributed Deep Learning", OSDI 2022, §4.2)
// in its stronger form, the local polytope:
//
//   x(v, s) in {0, 1}      node v takes s            sum over s = 1
//   e(u, v, s, t) >= 0     the pair takes (s, t)     sum over t = x(u, s)
//                                                    sum over s = x(v, t)
//
// and for each maximal time a row of memory, in which transient memory stands
// at e. Who has no choice, and pairs that exclude each other, have no column;
// nor has an edge whose costs are a sum of those of its ends.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_ILP_INTEGERPROGRAM_H
#define DIVISI_LIB_SEARCH_ILP_INTEGERPROGRAM_H

#include "lib/Search/Exact/ExactProblem.h"

namespace divisi::search {

/// The integer program of a problem, as HiGHS takes it.
class IntegerProgram {
public:
  /// `exact` must outlive this.
  explicit IntegerProgram(const ExactProblem &exact);

  /// What the integer program has: entries of all rows. Counted in advance,
  /// since it can be far more than the problem has.
  static double countEntries(const ExactProblem &exact);

  /// Variables of the program.
  int numColumns() const { return int(cost.size()); }
  /// Constraints of the program.
  int numRows() const { return int(rowLower.size()); }

  /// States of all variables, from the values of the columns: the largest of
  /// each node.
  std::vector<uint32_t> states(const double *values) const;
  /// The other way.
  std::vector<double> values(std::span<const uint32_t> states) const;

  std::vector<double> cost;   ///< Scaled; differences to each node's least.
  std::vector<int> isInteger; ///< Per column: 1 if it is.
  std::vector<double> rowLower, rowUpper; ///< Bounds of each row.
  std::vector<int> rowStart, index;       ///< Entries by row.
  std::vector<double> value;              ///< Of each entry, as `index`.
  /// The exact cost is about objective / scale + offset.
  double scale = 1, offset = 0;

private:
  static constexpr int kNone = -1;
  void addColumns();
  void addMarginals(uint32_t factor);
  void addMemory();
  void scaleCosts();
  void beginRow(double lower, double upper);
  void addEntry(int column, double coefficient);

  const ExactProblem &exact_;
  /// Per factor of the problem and entry of it: its column, or kNone.
  std::vector<std::vector<int>> columns_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_ILP_INTEGERPROGRAM_H
