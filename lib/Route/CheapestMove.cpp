//===- CheapestMove.cpp - The best step between two layouts ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheapestMove.h"

namespace divisi {

/// Exchanges come last and stand for all that no collective does; they are dear
/// to price.
std::optional<std::pair<Move, StepPrice>>
cheapestMove(const StepPrices &prices, const Transition &transition,
             int64_t elementBits) {
  std::optional<std::pair<Move, StepPrice>> best;
  for (Move &move : legalMoves(transition)) {
    if (best && move.kind == StepKind::Exchange) {
      break;
    }
    StepPrice price = prices.of(transition, move, elementBits);
    if (!best || price.nanoseconds < best->second.nanoseconds) {
      best = {std::move(move), price};
    }
  }
  return best;
}

} // namespace divisi
