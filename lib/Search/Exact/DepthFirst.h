//===- DepthFirst.h - Depth-first branch and bound --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assigns one variable after another, the one of least bound first, and turns
// back where no assignment below can count: because its bound is too high, or
// because at some time even the least usage is above the limit. What bounds is
// an elimination of
//
//   scale * value(x)  +  sum over t of  price(t) * (usage(t, x) - limit)
//
// which is at most scale * value(x) for every x within the limit.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_EXACT_DEPTHFIRST_H
#define DIVISI_LIB_SEARCH_EXACT_DEPTHFIRST_H

#include "ExactProblem.h"

namespace divisi::search {

/// What is minimised: the cost within the limits, or the largest excess over a
/// limit whatever the cost.
enum class Goal : uint8_t { Cost, Excess };

/// An elimination as a bound of values: see above.
struct Guide {
  /// Of the priced sum above.
  Elimination tables;
  Wide scale = 1;  ///< What a unit of the value counts in the tables.
  Wide offset = 0; ///< Prices times limits.

  /// A lower bound of the value of whatever the tables bound by `sum`.
  Wide value(Wide sum) const;
};

/// The search. Keeps the best assignment over several guides.
class DepthFirst {
public:
  /// Assigns variables against `order`. `exact` and `budget` must outlive this.
  DepthFirst(const ExactProblem &exact, std::span<const uint32_t> order,
             Goal goal, Budget &budget)
      : exact_(exact), order_(order.begin(), order.end()), goal_(goal),
        budget_(budget), usage_(exact), states_(exact.sizes.size(), 0) {}

  /// Searches everything that `guide` doesn't rule out; false if the budget
  /// ended before.
  bool search(const Guide &guide);
  /// Follows `guide` without turning back, whatever the limits; returns how far
  /// above them the usage is at the problem's times, or nothing if it ends
  /// where it must not.
  std::optional<std::vector<Wide>> descend(const Guide &guide);

  /// The least value of all leaves that were within the limit, and its states.
  const std::optional<Wide> &value() const { return value_; }
  /// Empty if no leaf was within the limit.
  std::span<const uint32_t> states() const { return best_; }
  /// Called for every better leaf.
  std::function<void()> onBetter;

private:
  /// A variable whose states are being tried.
  struct Frame {
    std::vector<std::pair<Wide, uint32_t>> candidates; ///< Bound and state.
    size_t next = 0;
    Wide excess = 0; ///< Of the least usage before this variable.
    bool assigned = false;
  };

  uint32_t variable(size_t depth) const {
    return order_[order_.size() - 1 - depth];
  }
  bool canCount(const Guide &guide, Wide bound, Wide excess) const;
  void open(Frame &frame, const Guide &guide, size_t depth, Wide bound);
  void offerLeaf(Wide excess);
  Wide cost() const;

  const ExactProblem &exact_;
  std::vector<uint32_t> order_;
  Goal goal_;
  Budget &budget_;
  LeastUsage usage_;
  std::vector<uint32_t> states_, best_;
  std::optional<Wide> value_;
  std::vector<Wide> added_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_EXACT_DEPTHFIRST_H
