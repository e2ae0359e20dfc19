//===- CheckTree.h - The value of a certificate's tree ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the checker. Form first (everything that can be said without
// arithmetic), then values; each can assume what comes before it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CHECKTREE_H
#define DIVISI_LIB_SEARCH_CHECKTREE_H

#include "CheckRemainder.h"

#include "divisi/Support/Status.h"

namespace divisi::search {

/// What is wrong with the form of the tree, whose root there must be: scales,
/// who descends from whom, which states are named, how many numbers there are.
std::optional<std::string> checkTreeForm(const Problem &problem,
                                         const Remainder &remainder,
                                         const Certificate &certificate);

/// The bound that a tree of good form proves, nothing if it is infinite. Fails
/// if children leave out a state, a leaf has no value, or a number overflows.
Expected<std::optional<Wide>> treeBound(Merging &merging, Remainder remainder,
                                        const Certificate &certificate);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECKTREE_H
