//===- MemoryFirst.h - Assignments within the limit -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where costs pull against a tight limit, roundings of the Lagrangian may never
// fit. Then memory itself is the cost: with a weight for each time, variables
// minimise the weighted usage, the joint Lagrangian moves the weights to where
// too much is used, and single moves repair what is left. If the least weighted
// usage exceeds the weighted capacity, nothing fits at all.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FEASIBILITY_MEMORYFIRST_H
#define DIVISI_LIB_SEARCH_FEASIBILITY_MEMORYFIRST_H

#include "lib/Search/Dual/Lagrangian.h"

#include <functional>

namespace divisi::search {

/// Searches for anything within the limit, whatever it costs: see above.
class MemoryFirst {
public:
  /// `graph` must outlive this, and have some capacity that can bind.
  explicit MemoryFirst(const CostGraph &graph);

  /// Goes on for `work` entries, or until something fits or nothing can, or
  /// `stopped`. Returns the work that was done.
  int64_t search(int64_t work, const std::function<bool()> &stopped);

  /// An assignment that fits, or empty.
  const Assignment &found() const { return found_; }
  /// The least excess seen, summed over all times.
  double leastExcess() const { return leastExcess_; }
  /// The assignment of leastExcess(); empty if none is feasible but for memory.
  const Assignment &closest() const { return closest_; }
  /// Nothing fits, by weighted usage above the weighted capacity.
  bool infeasible() const { return infeasible_; }
  /// By how much the least weighted usage exceeds the weighted capacity; not
  /// above 0 if nothing is proved.
  double shortage() const { return lagrangian_->best().bound - allowed_; }
  /// The same as prices of memory, times `price`, for the graph with its costs.
  DualPoint proof(double price) const;

private:
  void consider(const Assignment &assignment);
  void repair(Assignment &assignment, int64_t &work) const;
  uint32_t bestState(const Assignment &assignment, uint32_t v,
                     const std::vector<double> &excess, int64_t &work) const;

  const CostGraph *graph_;
  CostGraph weighted_;
  double allowed_ = 0; ///< Weighted capacity.
  std::vector<double> weights_;
  std::unique_ptr<Lagrangian> lagrangian_;
  Assignment found_, closest_;
  double leastExcess_ = std::numeric_limits<double>::infinity();
  bool infeasible_ = false;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FEASIBILITY_MEMORYFIRST_H
