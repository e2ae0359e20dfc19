//===- RecomputeReading.h - What a plan could compute again -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A plan of a training step says what each tensor takes on a device, and what
// it takes to make it: that is all that RecomputeInput asks. Views of a tensor
// count as the tensor. Stages are single operators while the problem stays
// small. If that is too much, the forward pass is cut into parts where few
// tensors of the batch live, which are always kept; then a value is computed
// again only for its own part; and if that is too much, too, a part is one
// stage.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RECOMPUTEREADING_H
#define DIVISI_LIB_PLAN_RECOMPUTEREADING_H

#include "PricedPlan.h"
#include "RecomputeProblem.h"

namespace divisi::plan {

/// What is to be decided of a plan, and what it is in the program.
struct RecomputeReading {
  RecomputeInput input;          ///< In numbers.
  std::vector<unsigned> tensors; ///< Per value: in Dataflow::values.
  std::vector<unsigned> sites;   ///< Per stage: the first of it.
  /// Per tensor of the dataflow: the one that it is a view of, or itself.
  std::vector<unsigned> roots;
  int64_t turn = 0;     ///< The time at which the forward pass ends.
  bool byParts = false; ///< Stages are parts of the forward pass.
};

/// Of `priced`, without a limit; nothing where the program is no training step
/// of one entry on devices of one kind. `byParts`: stages are parts even if the
/// problem is small.
std::optional<RecomputeReading> readRecompute(const PricedPlan &priced,
                                              bool byParts);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RECOMPUTEREADING_H
