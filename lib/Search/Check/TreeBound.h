//===- TreeBound.h - The bound that a tree proves ---------------*- C++ -*-===//
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

#ifndef DIVISI_LIB_SEARCH_CHECK_TREEBOUND_H
#define DIVISI_LIB_SEARCH_CHECK_TREEBOUND_H

#include "Remainder.h"

#include "divisi/Support/Status.h"

namespace divisi::search {

/// The bound that a tree of good form proves, nothing if it is infinite. Fails
/// if children leave out a state, a leaf has no value, or a number overflows.
Expected<std::optional<Wide>> treeBound(Merging &merging, Remainder remainder,
                                        const Certificate &certificate);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECK_TREEBOUND_H
