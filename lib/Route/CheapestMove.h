//===- CheapestMove.h - The best step between two layouts -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ROUTE_CHEAPESTMOVE_H
#define DIVISI_LIB_ROUTE_CHEAPESTMOVE_H

#include "divisi/Route/StepPrices.h"

namespace divisi {

/// The cheapest move of a transition with its price, or nothing if none is
/// legal. An Exchange is considered only when nothing else does.
std::optional<std::pair<Move, StepPrice>>
cheapestMove(const StepPrices &prices, const Transition &transition,
             int64_t elementBits);

} // namespace divisi

#endif // DIVISI_LIB_ROUTE_CHEAPESTMOVE_H
