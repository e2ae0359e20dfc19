//===- PlanTimer.h - What assignments take with overlap ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planning problem as tasks of a simulator, which a change of some strategies
// gives other times: operators are tasks of a program, in its order, and every
// way of a tensor is a collective on the links of the program.
//
//   x ----- matmul ---[h]--- gelu          w1's way runs while the operator
//             |                            before matmul does; h's begins when
//            w1                            matmul ends
//
// It stands between sums, in which nothing overlaps, and what is simulated of a
// lowered program, which also has buckets and operators in another order: fast
// enough for each of a search's proposals.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_PLANTIMER_H
#define DIVISI_LIB_PLAN_PLANTIMER_H

#include "PlanningInputs.h"

#include "divisi/Search/AssignmentTimer.h"

namespace divisi::plan {

/// Of `planning`, for the grid of `inputs`.
std::shared_ptr<search::AssignmentTimer>
makePlanTimer(std::shared_ptr<const PlanningProblem> planning,
              const PlanningInputs &inputs);

/// What operators and ways of tensors take under `assignment`, in nanoseconds.
struct PlanParts {
  int64_t operators = 0; ///< No order takes less.
  int64_t ways = 0;      ///< All of what may overlap.
};
/// Of `planning`.
PlanParts partsOf(const PlanningProblem &planning,
                  const std::vector<uint32_t> &assignment);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_PLANTIMER_H
