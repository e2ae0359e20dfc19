//===- Around.h - The neighbourhood of one decision -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To see what another strategy is worth, those around it must be free to
// follow: a value rests otherwise, and the next operator takes it so. What is
// farther away stays, and prices the border.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_AROUND_H
#define DIVISI_LIB_PLAN_AROUND_H

#include "divisi/Search/Solvers.h"

#include <vector>

namespace divisi::plan {

/// The nodes within a few edges of one node. The problem must outlive it.
class Around {
public:
  /// Of the nodes around `node`, which has to be one of `problem`.
  Around(const search::Problem &problem, unsigned node);

  /// What they are nodes of.
  const search::Problem &problem() const { return problem_; }
  /// The edges at `node`, one that joins it with itself once.
  const std::vector<const search::Edge *> &edgesOf(unsigned node) const {
    return edges_[node];
  }

  /// `assignment` with `choice` for the node and the best for those around it,
  /// or what is found in bounded work; never worse than leaving them. Memory
  /// is not looked at.
  std::vector<uint32_t> adapt(std::vector<uint32_t> assignment,
                              uint32_t choice) const;

  /// What the node, those around it and all edges at them cost: two assignments
  /// that differ only there differ by as much in all.
  search::Wide costNear(const std::vector<uint32_t> &assignment) const;

private:
  search::Problem subproblem(const std::vector<uint32_t> &assignment) const;

  const search::Problem &problem_;
  unsigned node_;
  std::vector<std::vector<const search::Edge *>> edges_; ///< By node.
  std::vector<unsigned> free_; ///< Near `node_`, without it; ascending.
  std::vector<const search::Edge *> near_; ///< At these and `node_`, once each.
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_AROUND_H
