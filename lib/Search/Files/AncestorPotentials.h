//===- AncestorPotentials.h - What packed potentials refer to ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FILES_ANCESTORPOTENTIALS_H
#define DIVISI_LIB_SEARCH_FILES_ANCESTORPOTENTIALS_H

#include "divisi/Search/Certificate.h"

#include <span>

namespace divisi::search {

/// The potentials of the nearest ancestor of the node `index` that bounds, or
/// none: what a file keeps its potentials relative to. `tree` may be malformed;
/// a parent that is no earlier node ends the walk.
inline std::span<const int64_t>
potentialsAbove(const std::vector<BoundNode> &tree, size_t index) {
  while (tree[index].parent >= 0 && size_t(tree[index].parent) < index) {
    index = size_t(tree[index].parent);
    if (tree[index].bounds) {
      return tree[index].potentials;
    }
  }
  return {};
}

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FILES_ANCESTORPOTENTIALS_H
