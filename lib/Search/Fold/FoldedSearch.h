//===- FoldedSearch.h - Where a search of the whole starts ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FOLD_FOLDEDSEARCH_H
#define DIVISI_LIB_SEARCH_FOLD_FOLDEDSEARCH_H

#include "Fold.h"
#include "lib/Search/Graph/Incumbent.h"

#include <functional>

namespace divisi::search {

/// What the folded graph tells of the whole.
struct FoldedStart {
  Incumbent best;  ///< Of the whole, if anything was found.
  DualPoint point; ///< Of the whole; its bound is what `potentials` prove.
  Potentials potentials; ///< Of the whole, at the prices of `point`.
  int64_t work = 0;      ///< That was done.
};

/// Searches the graph in which each class of `classOf` is three variables, its
/// members in turn: neighbours in a chain of equal layers then stay apart, so
/// that the bound is one of the whole but for the ends of the chain, and
/// answers are all layers in one way, or in another, which the whole then
/// crosses (Crossover.h). By the dual until that stalls, and as long by
/// neighbourhoods. Ends when the gap is closed, a part of `work` is spent
/// (three quarters where the graph is much smaller than the whole, an eighth
/// where it is smaller, else nothing), or `stopped`. Does not branch.
FoldedStart searchFolded(const CostGraph &whole,
                         const std::vector<uint32_t> &classOf,
                         const Options &options, int64_t work,
                         const std::function<bool()> &stopped);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FOLD_FOLDEDSEARCH_H
