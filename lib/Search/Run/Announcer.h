//===- Announcer.h - Tells listeners of answers and bounds ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_RUN_ANNOUNCER_H
#define DIVISI_LIB_SEARCH_RUN_ANNOUNCER_H

#include "Budget.h"

#include <limits>

namespace divisi::search {

/// Tells Options::onProgress of better answers and bounds, if anyone listens.
class Announcer {
public:
  /// Both must outlive this.
  Announcer(const Options &options, const Budget &budget)
      : options_(options), budget_(budget) {}

  /// A better answer, which the ingredient `by` has found.
  void answer(const Solution &solution, std::string_view by);

  /// A bound in floating point, if it is above the last one. `best` is the
  /// answer so far, or null, and `cost` what it costs in floating point. An
  /// infinite bound is not told without an answer.
  void bound(double bound, const Solution *best, double cost,
             std::string_view by);

private:
  Progress line(std::string_view by) const;

  const Options &options_;
  const Budget &budget_;
  double highest_ = -std::numeric_limits<double>::infinity();
  std::optional<Wide> told_; ///< The last bound that was told.
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_RUN_ANNOUNCER_H
