//===- Portfolio.h - Rounds of the default solver ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A solver works in rounds. Each has two tasks of a fixed amount of work, which
// see what the rounds before them found, and nothing of each other:
//
//   round      1        2        3        4 …
//   task one   dual     dual     dual     branch        (bounds)
//   task two   memory   large neighbourhoods …          (assignments)
//
// After both, what they found is put together, always in the same order. So two
// threads give the same answer as one.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_PORTFOLIO_H
#define DIVISI_LIB_SEARCH_PORTFOLIO_H

#include "divisi/Search/Solvers.h"

#include <limits>

namespace divisi::search {

/// Which ingredients a solver is made of. Without the dual there is still one
/// until the first answer, since answers come from its roundings.
struct Ingredients {
  bool dual = true;           ///< Message passing and prices of memory.
  bool neighbourhoods = true; ///< Large-neighbourhood search.
  bool branching = true;      ///< Branch and bound.
  /// An answer to start from, or null.
  const Solution *start = nullptr;
  /// Which variables to fold, or null.
  const Ties *ties = nullptr;
  /// Work after which to give up without an answer.
  int64_t patience = std::numeric_limits<int64_t>::max();
};

/// Runs the ingredients on `problem` within the budget of `options`.
Outcome runPortfolio(const Problem &problem, const Options &options,
                     Ingredients ingredients);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_PORTFOLIO_H
