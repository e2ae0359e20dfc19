//===- RecomputeProblem.h - What to keep and what not -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the forward pass makes and the backward pass uses is kept until then, or
// dropped and computed again. This is Checkmate's problem (Jain et al. 2020),
// written as a planning problem (divisi/Search/Problem.h), so that it has the
// solvers, bounds and certificates of that. Time goes like this:
//
//   position   0 1 2 3 | 4 5 6 | 7 8 | 9 ...
//              forward | stage | stage ...
//                        ^ ^ ^
//             a again, b again, gradient that uses b
//
// A stage is a part of the backward pass. Before its operators, any values may
// be computed again, each from operands that are there. A value is a chain of
// nodes, one for each part of its time between two of its possible uses:
//
//   held     [last forward use, first stage that it is of use in)  dead kept
//   before   [stage begins, its turn to be computed again)         dead kept
//   computed [its turn, first use]                             dead kept again
//   after    (a use, next use]  ... (last use, stage ends)         dead kept
//
// Edges forbid what is dead to be kept, and what is computed again to lack an
// operand. Memory is that of the nodes that are not dead, and it counts up to
// the use after which a value is not needed, as in Checkmate. Declared space:
// the forward pass and every gradient operator run once; forward values may be
// computed again in every stage of their window.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RECOMPUTEPROBLEM_H
#define DIVISI_LIB_PLAN_RECOMPUTEPROBLEM_H

#include "divisi/Search/Problem.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace divisi::plan {

/// What the forward pass makes.
struct ForwardValue {
  int64_t bytes = 0; ///< Of one device.
  int64_t cost = 0;  ///< To compute it again.
  /// Those that this takes, of smaller numbers; what is always there is none.
  llvm::SmallVector<unsigned, 3> operands;
  /// The forward position from which on only the backward pass needs it.
  int64_t held = 0;
  /// The stages, from the first to before the end, in which it may be computed
  /// again; empty: it must not.
  unsigned firstStage = 0, endStage = 0;

  /// Whether it may be computed again in a stage.
  bool isIn(unsigned stage) const {
    return firstStage <= stage && stage < endStage;
  }
};

/// An operator of the backward pass.
struct BackwardStep {
  llvm::SmallVector<unsigned, 4> uses; ///< Forward values, each once.
  int64_t base = 0; ///< Bytes that are taken beside forward values.
};

/// A part of the backward pass.
struct RecomputeStage {
  int64_t base = 0; ///< As BackwardStep::base, before its first step.
  std::vector<BackwardStep> steps; ///< As they run; at least one.
};

/// All of it.
struct RecomputeInput {
  std::vector<ForwardValue> values;   ///< In the order in which they are made.
  std::vector<int64_t> forwardBases;  ///< Bytes taken by position, beside what
                                      ///< is held for the backward pass alone.
  std::vector<RecomputeStage> stages; ///< As they run.
  int64_t limit = 0;                  ///< Bytes at every time.
  /// Keep nothing that may be computed again.
  bool dropsAll = false;
};

/// The planning problem, and what its nodes stand for.
struct RecomputeProblem {
  search::Problem problem; ///< Its costs are those of ForwardValue.
  /// A value in a stage: the node whose state 2 is to compute it again.
  struct Turn {
    unsigned value = 0, stage = 0, node = 0; ///< By number.
  };
  std::vector<Turn> turns; ///< By stage, then by value.
};

/// As the file's head says.
RecomputeProblem makeRecomputeProblem(const RecomputeInput &input);

/// Per stage, the values that `assignment` computes again, in the order in
/// which they are made.
std::vector<std::vector<unsigned>>
recomputedBy(const RecomputeProblem &problem, size_t numStages,
             const std::vector<uint32_t> &assignment);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RECOMPUTEPROBLEM_H
