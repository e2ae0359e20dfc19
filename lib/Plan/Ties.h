//===- Ties.h - Repeated blocks of a model ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_TIES_H
#define DIVISI_LIB_PLAN_TIES_H

#include "ProblemBuilder.h"
#include "divisi/Search/Solvers.h"

namespace divisi::plan {

/// Sites that follow each other as those before them did: `count` blocks of
/// `length` sites each, the first beginning at `begin`.
struct RepeatedBlocks {
  size_t begin = 0, length = 0, count = 0; ///< As said above; in sites.
  friend bool operator==(const RepeatedBlocks &,
                         const RepeatedBlocks &) = default;
};

/// The blocks that cover most sites, by the kinds of these; of those the
/// shortest, then the first. Nothing if no two follow each other.
std::optional<RepeatedBlocks> findRepeats(const Dataflow &dataflow);

/// The same, then what is left of the sites before and behind them, as long as
/// they cover a twentieth of all: a training step has blocks forwards, blocks
/// backwards, and updates. In the order of the program.
std::vector<RepeatedBlocks> findAllRepeats(const Dataflow &dataflow);

/// Ties the nodes of each block to those of the first that it repeats:
/// operators, tensors that they make, globals that they read and stops on the
/// way.
std::optional<search::Ties> tiesOf(const Dataflow &dataflow,
                                   const PlanningProblem &planning);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_TIES_H
