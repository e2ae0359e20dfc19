//===- NamedSplit.h - A split that speaks of names --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `#spmd.split` cannot see its operator's loops nor its grid's axes, so it
// keeps names. `resolve` finds what they name, on an operator and a grid.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_NAMEDSPLIT_H
#define DIVISI_DIALECTS_SPMD_NAMEDSPLIT_H

#include "divisi/Layout/Loops.h"

#include <string>

namespace divisi::spmd {

/// The axes that split one loop, outermost first.
struct NamedLoopSplit {
  std::string loop;                       ///< The name of a loop.
  llvm::SmallVector<std::string, 2> axes; ///< Outermost first.
  friend bool operator==(const NamedLoopSplit &,
                         const NamedLoopSplit &) = default;
  friend llvm::hash_code hash_value(const NamedLoopSplit &split) {
    return llvm::hash_combine(
        split.loop,
        llvm::hash_combine_range(split.axes.begin(), split.axes.end()));
  }
};

/// ::divisi::Split by names; only loops that are split.
struct NamedSplit {
  llvm::SmallVector<NamedLoopSplit, 4> loops; ///< Those that are split.
  llvm::SmallVector<std::string, 2> carry;    ///< Axes, in any order.
  unsigned carrySet = 0;                      ///< As in Split.

  /// The names of what `split` means, loops in the order of `nest`.
  static NamedSplit of(const LoopNest &nest, const Grid &grid,
                       const Split &split);

  /// Sets `split` to what the names mean, or returns which name means nothing.
  /// Whether the split is legal is verifySplit's question.
  std::optional<std::string> resolve(const LoopNest &nest, const Grid &grid,
                                     Split &split) const;

  friend bool operator==(const NamedSplit &, const NamedSplit &) = default;
  friend llvm::hash_code hash_value(const NamedSplit &split) {
    return llvm::hash_combine(
        llvm::hash_combine_range(split.loops.begin(), split.loops.end()),
        llvm::hash_combine_range(split.carry.begin(), split.carry.end()),
        split.carrySet);
  }
};

} // namespace divisi::spmd

#endif // DIVISI_DIALECTS_SPMD_NAMEDSPLIT_H
