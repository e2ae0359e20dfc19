//===- Consistency.h - States that some pair leaves alone -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the checker: what nodes of a tree lose "until nothing changes"
// (Certificate.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CHECK_CONSISTENCY_H
#define DIVISI_LIB_SEARCH_CHECK_CONSISTENCY_H

#include "Remainder.h"

namespace divisi::search {

/// Takes away states that have no partner: AC-3 (A. K. Mackworth, "Consistency
/// in networks of relations", 1977).
class Consistency {
public:
  /// Refers to `remainder`.
  explicit Consistency(const Remainder &remainder);

  /// Until nothing changes, makes dead what all entries of some pair with what
  /// is `alive` of the other end leave out. Nothing is, but for the states of
  /// `variable`, or of any if there is none.
  void restore(std::vector<bool> &alive,
               std::optional<uint32_t> variable = std::nullopt) const;

private:
  /// One with infeasible entries.
  struct HardPair {
    uint32_t index;
    bool isLonely; ///< Whether a whole row or column of them is.
  };

  bool lose(const HardPair &hard, std::vector<bool> &alive,
            std::vector<bool> &changed) const;

  const Remainder &remainder_;
  std::vector<HardPair> pairs_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECK_CONSISTENCY_H
