//===- Potentials.h - Potentials of a point of the dual ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_DUAL_POTENTIALS_H
#define DIVISI_LIB_SEARCH_DUAL_POTENTIALS_H

#include "Lagrangian.h"

namespace divisi::search {

/// One potential for each state of each end of each pair. With them the bound
/// is a sum of minima of single variables and single pairs (Certificate.h),
/// whereas message passing leaves parts of a belief with several pairs.
struct Potentials {
  /// For each pair, one for each state of its first and of its second end.
  std::vector<std::vector<double>> first, second;
};

/// The potentials of `point` after one more round. Double precision where
/// message passing is content with single.
Potentials splitMessages(const CostGraph &graph, const DualPoint &point);

/// The bound that these potentials prove, in double precision: what passes of
/// messages say may be off by a rounding of the largest costs.
double boundOf(const CostGraph &graph, const DualPoint &point);
/// The bound that `potentials` prove at the prices of `point`.
double boundOf(const CostGraph &graph, const DualPoint &point,
               const Potentials &potentials);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_DUAL_POTENTIALS_H
