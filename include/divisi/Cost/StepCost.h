//===- StepCost.h - Costs of steps ------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The prices of the collectives, by the bytes that the busiest position sends
// or receives and the messages that it waits for; docs/rationale-layout.md has
// the formulas. A router uses stepPrices.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_STEPCOST_H
#define DIVISI_COST_STEPCOST_H

#include "divisi/Cluster/GridLinks.h"
#include "divisi/Route/StepPrices.h"

namespace divisi {

/// What `move`, one of the legalMoves of `transition`, takes on `grid`, which
/// has these links.
StepPrice priceStep(const Grid &grid, const GridLinks &links,
                    const Transition &transition, const Move &move,
                    int64_t elementBits);

/// priceStep as the function that a Router asks.
StepPrices stepPrices(Grid grid, GridLinks links);

} // namespace divisi

#endif // DIVISI_COST_STEPCOST_H
