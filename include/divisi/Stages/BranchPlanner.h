//===- BranchPlanner.h - Branches on parts of the devices -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branches that do not depend on each other, as two towers or the columns of an
// Inception module, may run beside each other, each on a part of the devices:
// the dimension O of FlexFlow's SOAP space, the parallel splits of Unity (Unger
// et al., 2022).
//
//   nodes        s -+- a - b - c -+- t
//                   +--- d - e ---+
//   devices 0 1  s    a b c         t
//   devices 2 3  s    d e           t
//
// A region is a sequence of nodes that all its paths pass and of what lies
// between them, or branches that nothing connects. What it takes on a part of
// the devices:
//
//   a node       what the caller says
//   a sequence   the sum of its parts
//   branches     the least of: one after the other on all of these devices; in
//                two groups on disjoint parts of them, the longer of both, each
//                with the moves of values that enter and leave it
//
// Groups of branches are regions, so that they may be divided further. Of a
// region that is neither, the nodes that nothing in it reads run behind the
// others, which are a region.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_STAGES_BRANCHPLANNER_H
#define DIVISI_STAGES_BRANCHPLANNER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace divisi {

/// What is placed as one.
struct BranchNode {
  /// What it takes on a grid of each of BranchProblem::sizes.
  std::vector<int64_t> nanoseconds;
  std::vector<size_t> operands; ///< Nodes before it.
  int64_t move = 0; ///< What its result takes to another grid, in nanoseconds.
};

/// What is to be placed on equal devices.
struct BranchProblem {
  std::vector<BranchNode> nodes; ///< In an order in which operands come first.
  /// How many devices a grid may have, ascending; the last are all.
  std::vector<size_t> sizes;
};

/// Devices that stand behind each other.
struct DevicePart {
  size_t first = 0; ///< Device.
  size_t size = 0;  ///< Of BranchProblem::sizes, the index.

  bool operator==(const DevicePart &) const = default;
};

/// The best placement.
struct BranchPlan {
  std::vector<DevicePart> places; ///< Per node.
  /// The nodes as devices run them: branches in a row one after the other.
  std::vector<size_t> order;
  int64_t nanoseconds = 0; ///< See the file's head.

  /// Whether a node is not on all devices.
  bool isDivided() const;
};

/// The best plan by the file's head; of equal ones that which divides less.
/// Which branches form a group is tried out up to 8 branches; more are divided
/// in the order of their length, each to the group that ends first.
BranchPlan planBranches(const BranchProblem &problem);

} // namespace divisi

#endif // DIVISI_STAGES_BRANCHPLANNER_H
