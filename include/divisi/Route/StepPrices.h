//===- StepPrices.h - The prices that a router uses -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A router knows the steps, not their costs: its caller passes a function that
// prices them. divisi/Cost/StepCost.h makes one from costs of links.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_ROUTE_STEPPRICES_H
#define DIVISI_ROUTE_STEPPRICES_H

#include "divisi/Layout/StepRules.h"

#include "llvm/ADT/SmallVector.h"

#include <functional>

namespace divisi {

/// What one step takes.
struct StepPrice {
  int64_t nanoseconds = 0; ///< At the slowest position.
  int64_t bytes = 0;       ///< That the busiest position receives from others.
};

/// The prices of steps on a grid.
struct StepPrices {
  /// The price of `move`, one of the legalMoves of `transition`, for a tensor
  /// whose elements take `elementBits` in memory. Equal questions have equal
  /// answers, and no step is free.
  std::function<StepPrice(const Transition &transition, const Move &move,
                          int64_t elementBits)>
      of;
  /// Per axis of the grid, the first of those that may change places with it:
  /// no price depends on which is which.
  llvm::SmallVector<uint32_t, 6> alike;
};

} // namespace divisi

#endif // DIVISI_ROUTE_STEPPRICES_H
