//===- AssignmentTimer.h - What assignments take ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The costs of a problem add up, and what runs beside each other does not. Who
// knows what nodes and edges stand for can tell a solver what an assignment
// takes, by a call-back: a simulator of plans (lib/Plan/PlanTimer.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SEARCH_ASSIGNMENTTIMER_H
#define DIVISI_SEARCH_ASSIGNMENTTIMER_H

#include "divisi/Search/Problem.h"

#include <span>

namespace divisi::search {

/// One node's new strategy.
struct Change {
  uint32_t node = 0, strategy = 0; ///< Of the problem.
};

/// Says what the assignments of one problem take, in the unit of its costs. It
/// has a current assignment, and looks at changes of it. What is infeasible
/// takes nothing.
class AssignmentTimer {
public:
  virtual ~AssignmentTimer() = default;
  /// Makes `assignment` the current one; tells what it takes.
  virtual Wide begin(const std::vector<uint32_t> &assignment) = 0;
  /// What the current assignment would take with `changes`, which name a node
  /// once. The proposal before is forgotten.
  virtual Wide propose(std::span<const Change> changes) = 0;
  /// Makes the last proposal, with its changes, the current assignment.
  virtual void accept() = 0;
  /// What the last call has looked at, as Options::work counts it.
  virtual int64_t work() const = 0;
};

} // namespace divisi::search

#endif // DIVISI_SEARCH_ASSIGNMENTTIMER_H
