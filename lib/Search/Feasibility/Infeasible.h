//===- Infeasible.h - Proves and explains infeasibility ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FEASIBILITY_INFEASIBLE_H
#define DIVISI_LIB_SEARCH_FEASIBILITY_INFEASIBLE_H

#include "MemoryFirst.h"
#include "lib/Search/Reduction/ReducedGraph.h"
#include "lib/Search/Run/Budget.h"

namespace divisi::search {

/// Of a problem whose pairs exclude each other: no state of `variable` is left,
/// whatever the limit.
Outcome explainConflict(const Problem &problem, uint32_t variable);

/// Whether what `memory` found out, in floating point, holds in integers: a
/// certificate shows that whatever fits costs more than anything can cost.
bool provesShortage(const Problem &problem, const Reduction &reduction,
                    const ReducedGraph &reduced, const MemoryFirst &memory);

/// Of a problem proved to need more memory than its limits; `time` is one at
/// which even the least usages exceed one of them, if there is one. Searches
/// for the smallest limit that would do, within the budget, if
/// Options::explains. Of several
/// resources that is the one of `time`, or one whose limit is too small even if
/// the others have none; if there is no such one, only the message says what is
/// known.
Outcome explainShortage(const Problem &problem, const Options &options,
                        Budget &budget, std::optional<Moment> time);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FEASIBILITY_INFEASIBLE_H
