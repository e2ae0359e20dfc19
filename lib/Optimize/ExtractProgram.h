//===- ExtractProgram.h - Extraction as an integer program ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows and columns of Extract.h without those whose value is known: a class
// that all extractions need has no y, and a class of one node no x but its y.
// What a class costs at least is paid at y, and its nodes cost the difference.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_OPTIMIZE_EXTRACTPROGRAM_H
#define DIVISI_LIB_OPTIMIZE_EXTRACTPROGRAM_H

#include "lib/Optimize/ExtractForm.h"

#include <functional>
#include <memory>

namespace divisi::optimize {

/// How a run of HiGHS ended.
struct ProgramRun {
  /// What HiGHS claims.
  enum class End {
    Optimal,    ///< Its answer is the cheapest that is left.
    Infeasible, ///< No extraction is left.
    Stopped,    ///< A limit was met, or it failed.
  };

  End end = End::Stopped; ///< Why HiGHS ended.
  /// Of the cost of what is left, lowered by the tolerances; nothing if HiGHS
  /// says none.
  std::optional<int64_t> bound;
  int64_t nodes = 0;      ///< That were looked at.
  int64_t iterations = 0; ///< Of the simplex method.
};

/// The integer program of a problem, as HiGHS takes it.
class ExtractionProgram {
public:
  /// Both must outlive it.
  ExtractionProgram(const ExtractionProblem &problem,
                    const ExtractionForm &form);

  /// Whether rows and columns are too many for HiGHS.
  bool isTooLarge() const;
  /// Excludes an extraction, and no other; false if there is no other.
  bool exclude(const Extraction &extraction);
  /// Lets HiGHS look for the cheapest extraction, without dominated nodes if
  /// `isBest`, from `start` if there is one. What it finds on its way and in
  /// the end goes to `offer`, as a preferred node of each class.
  ProgramRun run(bool isBest, const Extraction *start,
                 const ExtractionLimits &left,
                 const std::function<void(std::vector<uint32_t>)> &offer) const;

private:
  static constexpr int kNone = -1;
  struct Run; ///< What the callback sees.

  int addColumn(int64_t cost);
  void addColumns(uint32_t c);
  void addRows(uint32_t c);
  void addNeed(uint32_t c, uint32_t d, const llvm::BitVector &who);
  void addRow(const std::vector<std::pair<int, double>> &entries, double most);
  std::vector<uint32_t> preferences(const double *values) const;
  std::vector<double> values(const Extraction &extraction) const;
  void pass(void *highs, bool isBest) const;
  ProgramRun conclude(void *highs, const Run &run) const;

  const ExtractionProblem &problem_;
  const ExtractionForm &form_;
  std::vector<uint32_t> place_;  ///< Of each class, in `form.order`.
  std::vector<int> classColumn_; ///< Of each class: of y, or kNone.
  /// Of each class, as `form.nodes`: of x; kNone for the only node.
  std::vector<std::vector<int>> nodeColumns_;
  std::vector<double> cost_, rowLower_, rowUpper_, value_;
  std::vector<int> rowStart_, index_;
  double scale_ = 1; ///< Costs in the program are so many times those given.
};

} // namespace divisi::optimize

#endif // DIVISI_LIB_OPTIMIZE_EXTRACTPROGRAM_H
