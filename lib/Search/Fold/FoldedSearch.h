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

/// Searches the graph in which each class of `classOf` is one variable, then
/// those in which it is 4, 16, … of them, as long as these are less than half
/// of the whole: a limit of memory is seldom used up by copies that all take
/// the same state. Each by the dual until that stalls, and as long by
/// neighbourhoods. Ends when the gap is closed, `work` entries have been looked
/// at, or `stopped`. Does not branch.
FoldedStart searchFolded(const CostGraph &whole,
                         const std::vector<uint32_t> &classOf,
                         const Options &options, int64_t work,
                         const std::function<bool()> &stopped);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FOLD_FOLDEDSEARCH_H
