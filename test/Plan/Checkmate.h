//===- Checkmate.h - Checkmate's integer program ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The rematerialization problem as Jain et al. state it (MLSys 2020), solved by
// HiGHS: an oracle that shares nothing with RecomputeProblem. Node t is
// computed first in stage t; R[t, i] says that node i is computed in stage t,
// S[t, i] that it is kept into it, U[t, k] what is in use after node k of stage
// t.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_PLAN_CHECKMATE_H
#define DIVISI_TEST_PLAN_CHECKMATE_H

#include <cstdint>
#include <optional>
#include <vector>

namespace divisi {

/// A program as Checkmate sees it.
struct CheckmateGraph {
  std::vector<int64_t> costs, bytes; ///< Per node, in topological order.
  /// Per node: those that it takes.
  std::vector<std::vector<unsigned>> operands;
  unsigned forward = 0; ///< How many nodes the forward pass has.
};

/// The least cost within `limit`, or nothing if there is no schedule.
/// `isFree`: also nodes of the backward pass, and within the forward pass, may
/// be computed again; else the declared space of RecomputeProblem.
std::optional<int64_t> solveCheckmate(const CheckmateGraph &graph,
                                      int64_t limit, bool isFree);

} // namespace divisi

#endif // DIVISI_TEST_PLAN_CHECKMATE_H
