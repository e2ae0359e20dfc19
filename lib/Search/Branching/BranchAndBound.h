//===- BranchAndBound.h - Best-first search of a tree -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Best-first branch and bound (A. H. Land and A. G. Doig, 1960) on the joint
// Lagrangian. A node has some branches to choose from (Branches.h). Each is
// tried with a few steps of the dual in both halves (strong branching: D.
// Applegate, R. Bixby, V. Chvatal, W. Cook, 1995); the best is gone on with.
// Children start from the node's prices and messages.
//
// Nodes are expanded apart from each other and put back in order, so that
// threads do not matter.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_BRANCHING_BRANCHANDBOUND_H
#define DIVISI_LIB_SEARCH_BRANCHING_BRANCHANDBOUND_H

#include "Branches.h"
#include "lib/Search/Certify/Certifier.h"
#include "lib/Search/Dual/Lagrangian.h"
#include "lib/Search/Graph/Incumbent.h"

#include <functional>
#include <memory>

namespace divisi::search {

/// The tree: nodes, their bounds, and what each may be split by.
class BranchAndBound {
public:
  /// Starts from the best point of the whole graph, which must outlive this.
  BranchAndBound(const CostGraph &graph, const DualPoint &root);

  /// What is known of a node that has been evaluated.
  struct Child {
    std::vector<uint32_t> kept; ///< Of the variable that is split.
    /// Of the whole graph; none if the node that it comes from has the better.
    std::shared_ptr<const DualPoint> point;
    double bound = 0;
    double overstated = 0;        ///< By what passes of messages said.
    std::vector<Branch> branches; ///< Where it may be split.
  };
  /// A node that is being split, and what comes of it.
  struct Expansion {
    uint32_t node = 0;   ///< Of the tree.
    double cutoff = 0;   ///< Cost of the best answer when it was taken.
    double enough = 0;   ///< A bound above closes a node.
    bool splits = false; ///< Else the node itself is evaluated again.
    /// Of the graph; the one whose states the children split.
    uint32_t variable = 0;
    std::vector<Child> children; ///< None if it was stopped.
    Incumbent found;
    std::vector<Assignment> roundings;
  };
  /// Whether to give up: the clock, or a signal.
  using Stop = std::function<bool()>;

  /// About what expanding a node costs, in entries.
  int64_t workOfExpansion() const;
  /// Takes the nodes of least bound, for about `work` entries.
  std::vector<Expansion> take(double cutoff, int64_t work);
  /// Tries branches and evaluates both halves of the best, unless `stop` says
  /// to give up; touches nothing but `expansion`. Returns the work.
  int64_t expand(Expansion &expansion, const Stop &stop) const;
  /// In the order in which they were taken.
  void put(std::vector<Expansion> expansions, double cutoff);

  /// No assignment is below, or the cutoff of the last put.
  double bound() const;
  /// Nothing is left to split.
  bool exhausted() const { return open_.empty(); }

  /// Leaves of the tree, closed ones too.
  size_t numLeaves() const { return numLeaves_; }

  /// Adds the tree to `certificate`, whose steps are there, and forgets it.
  void certify(const Certifier &certifier, Certificate &certificate,
               unsigned threads);

private:
  struct Node {
    int32_t parent = -1;
    uint32_t variable = 0;      ///< What the parent was split by, and
    std::vector<uint32_t> kept; ///< its states here.
    /// What its bound comes from: of the whole graph, with the domains of
    /// `pointOf`, which is this node or one above.
    std::shared_ptr<const DualPoint> point;
    uint32_t pointOf = 0;
    double bound = 0;
    double overstated = 0;        ///< As in Child.
    std::vector<Branch> branches; ///< Where it may be split.
    bool leaf = true;
  };

  class Evaluation;
  Domains domainsOf(uint32_t node) const;
  int64_t split(Expansion &expansion, const Stop &stop) const;
  void improve(Expansion &expansion);
  std::vector<const DualPoint *> pointsOfNodes() const;

  const CostGraph *graph_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> open_; ///< Leaves that may be split.
  double least_ = 0;           ///< Of leaves that are not open.
  size_t numLeaves_ = 1;
  size_t mostLeaves_ = 0; ///< Beyond, leaves are improved but not split.
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_BRANCHING_BRANCHANDBOUND_H
