//===- Trees.h - Exact optimisation of trees, given the rest ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables that induce a forest (chains of producer and user, and trees of
// them) are optimised together by dynamic programming while the others keep
// their states:
//
//   a - b - c        a, b, c, d induce a tree; e closes a cycle and waits,
//       |   |        its state added to what b and c cost
//       d   e - b
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_TREES_H
#define DIVISI_LIB_SEARCH_TREES_H

#include "Model.h"
#include "Random.h"

namespace divisi::search {

/// Takes variables in `order` as long as they close no cycle, and sets them to
/// the best states given the others. The priced cost never rises.
void optimizeForest(const Model &model, const std::vector<uint32_t> &order,
                    Assignment &assignment);

/// Optimises one forest after another, each begun with the variables that the
/// last left out, until `patience` of them in a row have improved nothing or
/// `work` is spent (from which what was done is taken). Seeded.
void improveByTrees(const Model &model, uint64_t seed, int patience,
                    int64_t &work, Assignment &assignment);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_TREES_H
