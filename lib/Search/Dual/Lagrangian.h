//===- Lagrangian.h - Prices of memory, jointly with messages ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory limit becomes a price per byte for each time (Lagrange
// multipliers: M. L. Fisher, "The Lagrangian relaxation method for solving
// integer programming problems", 1981). Prices change what states cost, and
// messages say what assignments want at these prices. Both are improved
// together: one forward and one backward pass, whose two assignments say at
// which times too much is used, then one step of the prices along that,
//
//   gradient <- (1 - smoothing) * gradient + smoothing * excess
//   prices   <- max(0, prices + (target - bound) / |gradient|^2 * gradient)
//
// of B. T. Polyak's length ("Minimization of unsmooth functionals", 1969)
// towards a target a little above the best bound, which comes down where the
// bound no longer rises. The assignments themselves become feasible on the way.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_DUAL_LAGRANGIAN_H
#define DIVISI_LIB_SEARCH_DUAL_LAGRANGIAN_H

#include "DualPoint.h"
#include "Messages.h"

#include <limits>

namespace divisi::search {

/// Work of one step of the dual, in entries of tables. Messages, usages and
/// times cost something even where tables are tiny.
int64_t workOfPasses(const CostGraph &graph);

/// Message passing and prices of memory on one graph, step by step.
class Lagrangian {
public:
  /// `graph` must outlive this.
  explicit Lagrangian(const CostGraph &graph);
  /// Starts from a point of the same graph.
  Lagrangian(const CostGraph &graph, const DualPoint &start);

  /// One forward and one backward pass and, after `warmUp` of them, a step of
  /// the prices. `upper` is what the best known assignment costs, or infinity.
  void step(double upper);

  /// The bound of the last backward pass.
  double bound() const { return bound_; }
  /// The point of the highest bound so far.
  const DualPoint &best() const { return best_; }
  /// What the last forward pass took.
  const Assignment &forwardTaken() const { return forward_; }
  /// What the last backward pass took.
  const Assignment &backwardTaken() const { return backward_; }
  /// The value of forwardTaken(); what does not fit costs kTop.
  Value forwardValue() const { return forwardValue_; }
  /// The same of backwardTaken().
  Value backwardValue() const { return backwardValue_; }
  /// The messages at the prices.
  const Messages &messages() const { return messages_; }
  /// The table of a pair at the prices.
  const Table &table(uint32_t pair) const { return messages_.table(pair); }
  /// For each position of capacity; at least 0.
  const std::vector<double> &prices() const { return prices_; }
  /// How many there were.
  int64_t steps() const { return steps_; }
  /// More steps would find little: the target hardly differs from the bound
  /// or, without prices, the bound has not risen for a while.
  bool stalled() const;
  /// More steps would find nothing.
  bool ended() const { return idle_ > 2000; }
  /// How far above the best bound the prices aim.
  void setAmbition(double ambition) { ambition_ = ambition; }
  /// Lets it turn at once where a step went too far, as one does along a line.
  /// Pays where times want the same; where they want different things it takes
  /// every turn for the end of the line.
  void setTurning(bool turns) { turns_ = turns; }
  /// Goes back to the best point.
  void restore();
  /// Passes before the first price; few where prices are given.
  void setWarmUp(int64_t steps) { warmUp_ = steps; }
  /// Work of one step, in entries of tables.
  int64_t workOfStep() const { return work_; }

private:
  void applyPrices();
  void priceTables();
  Value judge(const Assignment &taken, std::vector<double> &excess) const;
  double excessAt(size_t t) const;
  bool isOpposed() const;
  void movePrices(double upper);
  bool adaptAmbition();
  /// What gains and distances are relative to.
  double scale() const;

  const CostGraph *graph_;
  Messages messages_;
  std::vector<double> prices_, sums_; ///< sums_[t]: of prices before t.
  std::vector<double> gradient_, forwardExcess_, backwardExcess_;
  std::vector<uint32_t> pricedPairs_; ///< Pairs with transient memory.
  std::vector<double> priceOfPair_;
  Assignment forward_, backward_;
  Value forwardValue_, backwardValue_;
  double bound_ = 0;
  DualPoint best_;
  double spread_ = 0; ///< Costs of dearest less cheapest states.
  double ambition_ = 0;
  int64_t steps_ = 0, warmUp_ = 12, sinceGain_ = 0, below_ = 0;
  double lastGain_ = 0;
  double checked_ = -std::numeric_limits<double>::infinity();
  int64_t idle_ = 0; ///< Steps since the bound rose noticeably.
  int64_t work_ = 0;
  bool priced_ = false, turns_ = false;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_DUAL_LAGRANGIAN_H
