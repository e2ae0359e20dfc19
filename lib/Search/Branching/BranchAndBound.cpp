//===- BranchAndBound.cpp - Best-first search of a tree -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BranchAndBound.h"

#include "divisi/Support/Thread.h"
#include "lib/Search/Dual/Potentials.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace divisi::search {

/// Steps of the dual at a new node, and at one that is only tried.
static constexpr int kSteps = 60, kTrialSteps = 10;
/// About how many branches a node tries.
static constexpr int kTrials = 10;
/// Work that a node costs at least.
static constexpr int64_t kNodeWork = 20'000;
/// Nodes keep their points, and leaves have potentials in the certificate, so
/// that there cannot be too many. In bytes: what all may take, of which tables
/// and the checker need so much by entry; and the least room for nodes.
static constexpr size_t kMostMemory = 175'000'000, kMemoryOfEntry = 56,
                        kLeastRoom = 50'000'000;

/// Bytes for nodes.
static size_t roomFor(const CostGraph &graph) {
  size_t taken = 0;
  for (const Pair &pair : graph.pairs) {
    taken += kMemoryOfEntry * pair.table->rows * pair.table->columns;
  }
  return std::max(kLeastRoom, kMostMemory - std::min(taken, kMostMemory));
}

BranchAndBound::BranchAndBound(const CostGraph &graph, const DualPoint &root)
    : graph_(&graph), least_(std::numeric_limits<double>::infinity()) {
  Node node{.point = std::make_shared<const DualPoint>(root),
            .bound = root.bound};
  // In the end also potentials, 64 bits for each state of both ends of a pair.
  size_t bytes = sizeof(float) * root.messages.size() +
                 sizeof(double) * root.prices.size() +
                 2 * sizeof(int64_t) * root.messages.size();
  mostLeaves_ =
      std::max<size_t>(2, roomFor(graph) / std::max<size_t>(bytes, 1));
  nodes_.push_back(std::move(node));
  open_.push_back(0);
}

double BranchAndBound::bound() const {
  double bound = least_;
  for (uint32_t node : open_) {
    bound = std::min(bound, nodes_[node].bound);
  }
  return bound;
}

int64_t BranchAndBound::workOfExpansion() const {
  return 2 * (kSteps + kTrials * kTrialSteps) * workOfPasses(*graph_);
}

std::vector<BranchAndBound::Expansion> BranchAndBound::take(double cutoff,
                                                            int64_t work) {
  // Least bound first; equal ones in the order in which they were made.
  std::ranges::sort(open_, {}, [&](uint32_t node) {
    return std::pair(nodes_[node].bound, node);
  });
  size_t count = size_t(std::max<int64_t>(1, work / workOfExpansion()));
  count = std::min(count, open_.size());
  std::vector<Expansion> taken;
  for (size_t i = 0; i != count; ++i) {
    // What was overstated above will be overstated again.
    double enough =
        cutoff - 0.1 * toleranceOf(cutoff) + 2 * nodes_[open_[i]].overstated;
    taken.push_back({.node = open_[i], .cutoff = cutoff, .enough = enough});
  }
  open_.erase(open_.begin(), open_.begin() + long(count));
  return taken;
}

/// A node with its dual, while it is being evaluated.
class BranchAndBound::Evaluation {
public:
  Evaluation(const CostGraph &graph, Domains domains, const DualPoint &start,
             Expansion &expansion);

  /// Steps of the dual; fewer if nothing is left to gain, or `stop`.
  void run(int steps, const Stop &stop);
  double bound() const { return bound_; }
  int64_t work() const { return work_; }
  /// What is known of the node at the end.
  Child finish(const DualPoint &start);

private:
  void consider(const Assignment &taken, Value value);

  const CostGraph &graph_;
  Expansion &expansion_;
  SubGraph sub_;
  std::optional<Lagrangian> dual_; ///< If there is something to decide.
  std::optional<Branches> branches_;
  double bound_;
  int steps_ = 0;
  int64_t work_;
};

/// Starts from the parent's prices and messages; a part without a choice is its
/// own answer.
BranchAndBound::Evaluation::Evaluation(const CostGraph &graph, Domains domains,
                                       const DualPoint &start,
                                       Expansion &expansion)
    : graph_(graph), expansion_(expansion),
      sub_(restrict(graph, std::move(domains))), bound_(start.bound),
      work_(graph.numEntries() / 4 + kNodeWork) {
  if (sub_.infeasible) {
    bound_ = std::numeric_limits<double>::infinity();
  } else if (sub_.graph.variables.empty()) {
    consider({}, valueOf(sub_.graph, {}));
    bound_ = sub_.graph.constant;
  } else {
    dual_.emplace(sub_.graph, lower(graph, sub_, start));
    dual_->setAmbition(std::max(0.1 * (expansion.cutoff - start.bound), 1e-9));
    branches_.emplace(sub_, dual_->prices());
  }
}

void BranchAndBound::Evaluation::consider(const Assignment &taken,
                                          Value value) {
  double best = std::min(expansion_.cutoff, expansion_.found.cost);
  if (value.feasible() && value.cost < best) {
    expansion_.found = {sub_.expand(taken), value.cost};
  }
}

void BranchAndBound::Evaluation::run(int steps, const Stop &stop) {
  for (int i = 0; dual_ && i != steps && bound_ <= expansion_.enough && !stop();
       ++i) {
    dual_->step(expansion_.cutoff);
    work_ += dual_->workOfStep();
    consider(dual_->forwardTaken(), dual_->forwardValue());
    consider(dual_->backwardTaken(), dual_->backwardValue());
    if (++steps_ > kSteps / 4) {
      branches_->add(dual_->forwardTaken());
      branches_->add(dual_->backwardTaken());
    }
    bound_ = std::max(bound_, dual_->best().bound);
  }
}

/// Asks double precision before a node is closed, since single precision may
/// overstate.
BranchAndBound::Child
BranchAndBound::Evaluation::finish(const DualPoint &start) {
  Child child{.bound = bound_};
  if (!dual_) {
    child.point = std::make_shared<const DualPoint>(start);
    return child;
  }
  child.branches = branches_->choose(dual_->messages());
  DualPoint best = dual_->best();
  if (best.bound > expansion_.cutoff - toleranceOf(expansion_.cutoff)) {
    // Before it is closed, whether a certificate will say so too.
    best.bound = boundOf(sub_.graph, best);
    child.bound = std::max(best.bound, start.bound);
    child.overstated = std::max(dual_->best().bound - best.bound, 0.);
  }
  if (best.bound >= start.bound) {
    child.point =
        std::make_shared<const DualPoint>(lift(graph_, sub_, best, start));
  }
  if (expansion_.roundings.empty() && dual_->steps() != 0) {
    expansion_.roundings.push_back(sub_.expand(dual_->forwardTaken()));
  }
  return child;
}

/// Only the splits are kept: domains of all nodes would be large.
Domains BranchAndBound::domainsOf(uint32_t node) const {
  Domains domains(*graph_);
  std::vector<bool> known(domains.size(), false);
  for (int32_t i = int32_t(node); nodes_[i].parent >= 0; i = nodes_[i].parent) {
    // What was split last has the fewest states.
    if (!known[nodes_[i].variable]) {
      known[nodes_[i].variable] = true;
      domains.set(nodes_[i].variable, nodes_[i].kept);
    }
  }
  return domains;
}

/// The states of a branch's variable that its two children keep.
static std::array<std::vector<uint32_t>, 2> halves(const Domains &domains,
                                                   const Branch &branch) {
  std::array<std::vector<uint32_t>, 2> both;
  for (uint32_t s : domains[branch.variable]) {
    both[!std::ranges::binary_search(branch.kept, s)].push_back(s);
  }
  return both;
}

/// Tries every branch with a few steps of both children, keeps the one that
/// raises their bounds most (by the product, as of T. Achterberg, T. Koch, A.
/// Martin, "Branching rules revisited", 2005), and evaluates that one.
int64_t BranchAndBound::split(Expansion &expansion, const Stop &stop) const {
  const Node &node = nodes_[expansion.node];
  using Halves = std::array<std::unique_ptr<Evaluation>, 2>;
  Halves best;
  std::array<std::vector<uint32_t>, 2> kept;
  Domains domains = domainsOf(expansion.node);
  double most = -1;
  int64_t work = 0;
  for (const Branch &branch : node.branches) {
    Halves both;
    std::array<std::vector<uint32_t>, 2> split = halves(domains, branch);
    double score = 1;
    for (size_t half : {0, 1}) {
      Domains part = domains;
      part.set(branch.variable, split[half]);
      both[half] = std::make_unique<Evaluation>(*graph_, std::move(part),
                                                *node.point, expansion);
      both[half]->run(node.branches.size() > 1 ? kTrialSteps : 0, stop);
      work += both[half]->work();
      double bound = std::min(both[half]->bound(), expansion.cutoff);
      score *= std::max(bound - node.bound,
                        1e-6 * std::abs(expansion.cutoff - node.bound));
    }
    if (stop()) {
      return work;
    }
    if (score > most) {
      most = score;
      best = std::move(both);
      kept = std::move(split);
      expansion.variable = branch.variable;
    }
  }
  expansion.splits = true;
  for (size_t half : {0, 1}) {
    work -= best[half]->work();
    best[half]->run(kSteps, stop);
    work += best[half]->work();
    if (stop()) {
      return work;
    }
    expansion.children.push_back(best[half]->finish(*node.point));
    expansion.children.back().kept = std::move(kept[half]);
  }
  return work;
}

/// Splits the node if it may, else goes on with its dual.
int64_t BranchAndBound::expand(Expansion &expansion, const Stop &stop) const {
  const Node &node = nodes_[expansion.node];
  int64_t work = 0;
  if (!node.branches.empty() && numLeaves_ < mostLeaves_) {
    work = split(expansion, stop);
  } else {
    // Of the root nothing is known yet, or there is no room for more.
    Evaluation evaluation(*graph_, domainsOf(expansion.node), *node.point,
                          expansion);
    evaluation.run(4 * kSteps, stop);
    work = evaluation.work();
    expansion.children.push_back(evaluation.finish(*node.point));
  }
  if (stop()) {
    expansion.children.clear(); // Half done is not done.
  }
  return work;
}

/// A node that was evaluated again.
void BranchAndBound::improve(Expansion &expansion) {
  Node &node = nodes_[expansion.node];
  Child &child = expansion.children[0];
  bool known = !node.branches.empty();
  node.branches = std::move(child.branches);
  if (child.bound > node.bound && child.point) {
    node.bound = child.bound;
    node.overstated = child.overstated;
    node.point = std::move(child.point);
    node.pointOf = expansion.node;
  }
  if (known || !node.branches.empty()) {
    open_.push_back(expansion.node);
  } else {
    least_ = std::min(least_, node.bound);
  }
}

/// A child whose bound is no better than its parent's keeps the parent's point.
/// Children that are closed stay as leaves: the certificate needs them.
void BranchAndBound::put(std::vector<Expansion> expansions, double cutoff) {
  for (Expansion &expansion : expansions) {
    if (expansion.children.empty()) {
      open_.push_back(expansion.node); // Interrupted.
      continue;
    }
    if (!expansion.splits) {
      improve(expansion);
      continue;
    }
    for (Child &child : expansion.children) {
      uint32_t number = uint32_t(nodes_.size());
      const Node &parent = nodes_[expansion.node];
      bool own = child.point != nullptr;
      uint32_t pointOf = own ? number : parent.pointOf;
      std::shared_ptr<const DualPoint> point =
          own ? std::move(child.point) : parent.point;
      nodes_.push_back({.parent = int32_t(expansion.node),
                        .variable = expansion.variable,
                        .kept = std::move(child.kept),
                        .point = std::move(point),
                        .pointOf = pointOf,
                        .bound = child.bound,
                        .overstated = child.overstated,
                        .branches = std::move(child.branches)});
      double enough = cutoff - toleranceOf(cutoff);
      if (child.bound <= enough) {
        open_.push_back(number);
      }
    }
    Node &parent = nodes_[expansion.node];
    parent.leaf = false;
    parent.point = {};
    ++numLeaves_;
  }
}

/// Leaves bound, or the nodes above that their points are of.
std::vector<const DualPoint *> BranchAndBound::pointsOfNodes() const {
  std::vector<const DualPoint *> points(nodes_.size(), nullptr);
  for (const Node &node : nodes_) {
    if (node.leaf) {
      points[node.pointOf] = node.point.get();
    }
  }
  return points;
}

/// Every node that some leaf's bound comes from gets prices and potentials;
/// nodes are apart from each other, so two threads share them.
void BranchAndBound::certify(const Certifier &certifier,
                             Certificate &certificate, unsigned threads) {
  std::vector<BoundNode> &tree = certificate.tree;
  tree.resize(nodes_.size());
  double cutoff = double(*certificate.cutoff);
  std::vector<const DualPoint *> points = pointsOfNodes();
  auto makeEvery = [&](size_t begin, size_t step) {
    for (size_t i = begin; i < nodes_.size(); i += step) {
      const Node &node = nodes_[i];
      if (points[i]) {
        SubGraph sub = restrict(*graph_, domainsOf(uint32_t(i)));
        tree[i] =
            sub.infeasible
                ? certifier.makeInfeasible(sub, cutoff)
                : certifier.makeNode(lower(*graph_, sub, *points[i]), sub);
      }
      tree[i].parent = node.parent;
      if (node.parent >= 0) {
        tree[i].variable = certifier.nodeOf(node.variable);
        tree[i].kept = certifier.statesOf(node.variable, node.kept);
      }
    }
  };
  Expected<Thread> thread =
      threads > 1 ? Thread::start("certificates", [&] { makeEvery(1, 2); })
                  : Thread();
  bool isShared = thread && thread->isJoinable();
  makeEvery(0, isShared ? 2 : 1);
}

} // namespace divisi::search
