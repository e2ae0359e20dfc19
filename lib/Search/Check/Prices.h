//===- Prices.h - What memory costs at a node of a tree ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CHECK_PRICES_H
#define DIVISI_LIB_SEARCH_CHECK_PRICES_H

#include "CheckedWide.h"

#include "divisi/Search/Problem.h"

#include <algorithm>

namespace divisi::search {

/// What Lagrange multipliers of memory cost: prefix sums of the prices.
class Prices {
public:
  /// `prices` have the form that TreeForm.h asks for, and must outlive this;
  /// they are scaled by 2^bits.
  Prices(const std::vector<MemoryPrice> &prices, int bits, CheckedWide &exact)
      : prices_(prices), before_{0} {
    for (MemoryPrice price : prices) {
      before_.push_back(
          exact.add(before_.back(), exact.scale(price.price, bits)));
    }
  }

  /// The sum over the times of `live`, in units of values: what a unit of
  /// memory of `resource` costs that is used throughout.
  Wide during(uint32_t resource, Lifetime live) const {
    return before_[countBefore(resource, live.end)] -
           before_[countBefore(resource, live.begin)];
  }
  /// The sum over all times.
  Wide total(uint32_t resource) const {
    return before_[countBefore(resource + 1, INT64_MIN)] -
           before_[countBefore(resource, INT64_MIN)];
  }
  /// Whether memory costs nothing.
  bool areAllZero() const { return before_.back() == 0; }

private:
  size_t countBefore(uint32_t resource, int64_t time) const {
    auto key = [](const MemoryPrice &price) {
      return std::pair(price.resource, price.time);
    };
    return size_t(
        std::ranges::lower_bound(prices_, std::pair(resource, time), {}, key) -
        prices_.begin());
  }

  const std::vector<MemoryPrice> &prices_;
  std::vector<Wide> before_; ///< [i]: the sum of the first i prices.
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECK_PRICES_H
