//===- TransitionCache.h - What lies between layouts, once ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ROUTE_TRANSITIONCACHE_H
#define DIVISI_LIB_ROUTE_TRANSITIONCACHE_H

#include "divisi/Layout/StepRules.h"

#include <memory>
#include <unordered_map>

namespace divisi {

/// Analyses each change of a dimension once: on a large grid that looks at
/// thousands of positions, and many routes change one dimension alike.
class TransitionCache {
public:
  /// From one legal layout of a tensor of `shape` to another; both have to
  /// outlive the transition. Always of the same grid.
  Transition between(const Grid &grid, llvm::ArrayRef<int64_t> shape,
                     const Layout &from, const Layout &to);

private:
  /// A dimension, before and after.
  struct Key {
    int64_t extent = 0;
    DimLayout from, to;
    friend bool operator==(const Key &, const Key &) = default;
  };
  struct KeyHash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine(key.extent, key.from, key.to);
    }
  };
  std::unordered_map<Key, std::unique_ptr<DimChange>, KeyHash> changes_;
};

} // namespace divisi

#endif // DIVISI_LIB_ROUTE_TRANSITIONCACHE_H
