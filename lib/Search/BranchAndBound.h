//===- BranchAndBound.h - Splitting what the dual cannot close --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Best-first branch and bound (A. H. Land and A. G. Doig, 1960) on the joint
// Lagrangian. At the best prices of a node some variables waver: what their
// state costs in memory goes up and down from rounding to rounding. The one
// that wavers most is split at its mean, and both halves start from the node's
// prices and messages.
//
// Nodes are expanded apart from each other and put back in order, so that
// threads do not matter.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_SEARCH_BRANCHANDBOUND_H
#define LIB_SEARCH_BRANCHANDBOUND_H

#include "Certify.h"
#include "Neighbourhoods.h"

namespace divisi::search {

class BranchAndBound {
public:
  /// Starts from the best point of the whole model, which must outlive this.
  BranchAndBound(const Model &model, const DualPoint &root);

  /// A node that is being split, and what comes of it.
  struct Expansion {
    uint32_t node = 0;
    double cutoff = 0;
    bool splits = false; ///< Else the node itself is evaluated again.
    uint32_t variable = 0;
    struct Child {
      std::vector<uint32_t> kept;
      Domains domains;
      DualPoint point; ///< Of the whole model.
      double bound = 0;
      std::optional<std::pair<uint32_t, std::vector<uint32_t>>> split;
    };
    std::vector<Child> children;
    Incumbent found;
    std::vector<Assignment> roundings;
  };

  /// About what expanding a node costs, in entries.
  int64_t workOfExpansion() const;
  /// Takes the nodes of least bound, for about `work` entries.
  std::vector<Expansion> take(double cutoff, int64_t work);
  /// Evaluates both halves; touches nothing but `expansion`. Returns the work.
  int64_t expand(Expansion &expansion) const;
  /// In the order in which they were taken.
  void put(std::vector<Expansion> expansions, double cutoff);

  /// No assignment is below, or the cutoff of the last put.
  double bound() const;
  /// Nothing is left to split.
  bool exhausted() const { return open_.empty(); }

  size_t numLeaves() const { return numLeaves_; }

  /// Adds the tree to `certificate`, whose steps are there, and forgets it.
  void certify(const Certifier &certifier, Certificate &certificate,
               unsigned threads);

private:
  struct Node {
    int32_t parent = -1;
    uint32_t variable = 0;
    std::vector<uint32_t> kept;
    Domains domains;
    DualPoint point;
    double bound = 0;
    /// Where to split: a variable, and its states of one half.
    std::optional<std::pair<uint32_t, std::vector<uint32_t>>> split;
    bool leaf = true;
  };

  int64_t evaluate(const DualPoint &start, Expansion &expansion,
                   Expansion::Child &child, int steps) const;

  const Model *model_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> open_; ///< Leaves that may be split.
  double least_ = 0;           ///< Of leaves that are not open.
  size_t numLeaves_ = 1;
  size_t mostLeaves_ = 0; ///< Beyond, leaves are improved but not split.
};

} // namespace divisi::search

#endif // LIB_SEARCH_BRANCHANDBOUND_H
