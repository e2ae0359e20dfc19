//===- BranchAndBound.cpp - Splitting what the dual cannot close ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BranchAndBound.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace divisi::search {

/// Steps of the dual at a new node.
static constexpr int kSteps = 60;
/// Work that a node costs at least.
static constexpr int64_t kNodeWork = 20'000;
/// Nodes keep their points, so that there cannot be too many: in bytes.
static constexpr size_t kMostMemory = 50'000'000;

BranchAndBound::BranchAndBound(const Model &model, const DualPoint &root)
    : model_(&model), least_(std::numeric_limits<double>::infinity()) {
  Node node{.domains = Domains(model), .point = root, .bound = root.bound};
  size_t bytes =
      2 * sizeof(float) * root.messages.size() + 64 * model.variables.size();
  mostLeaves_ = std::max<size_t>(2, kMostMemory / std::max<size_t>(bytes, 1));
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
  return 2 * kSteps * workOfPasses(*model_);
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
    taken.push_back({.node = open_[i], .cutoff = cutoff});
  }
  open_.erase(open_.begin(), open_.begin() + long(count));
  return taken;
}

/// How much what the states of each variable cost in memory varies between the
/// roundings.
namespace {
class Wavering {
public:
  explicit Wavering(const SubModel &sub) : sub_(sub) {
    sums_.assign(sub.model.variables.size(), {});
  }

  void prepare(const std::vector<double> &prices) {
    prices_.assign(1, 0);
    for (double price : prices) {
      prices_.push_back(prices_.back() + price);
    }
  }

  void add(const Assignment &taken) {
    for (uint32_t v = 0; v != sums_.size(); ++v) {
      double cost = costOf(v, taken[v]);
      sums_[v].sum += cost;
      sums_[v].squares += cost * cost;
    }
    ++count_;
  }

  /// The variable of greatest variance, and the states below its mean; nothing
  /// if none varies.
  std::optional<std::pair<uint32_t, std::vector<uint32_t>>> choose() const {
    std::optional<uint32_t> best;
    double most = 0;
    for (uint32_t v = 0; v != sums_.size(); ++v) {
      double mean = sums_[v].sum / count_;
      double variance = sums_[v].squares / count_ - mean * mean;
      if (variance > most * (1 + 1e-9) && variance > 1e-12 * mean * mean) {
        if (!lowerHalf(v).empty()) {
          most = variance;
          best = v;
        }
      }
    }
    if (!best) {
      return std::nullopt;
    }
    return std::pair(sub_.variableOf[*best], lowerHalf(*best));
  }

private:
  double costOf(uint32_t v, uint32_t state) const {
    double cost = 0;
    for (const Usage &usage : sub_.model.variables[v].usages) {
      cost += usage.usages[state] * (prices_[usage.end] - prices_[usage.begin]);
    }
    return cost;
  }

  /// Empty if that would be none, or all.
  std::vector<uint32_t> lowerHalf(uint32_t v) const {
    double mean = sums_[v].sum / count_;
    std::vector<uint32_t> lower;
    for (uint32_t s = 0; s != sub_.states[v].size(); ++s) {
      if (costOf(v, s) <= mean) {
        lower.push_back(sub_.states[v][s]);
      }
    }
    if (lower.size() == sub_.states[v].size()) {
      lower.clear();
    }
    return lower;
  }

  struct Sums {
    double sum = 0, squares = 0;
  };
  const SubModel &sub_;
  std::vector<Sums> sums_;
  std::vector<double> prices_;
  double count_ = 0;
};
} // namespace

/// The variable whose two best states differ least in what the messages say,
/// and the better of them: what to split where memory does not waver.
static std::optional<std::pair<uint32_t, std::vector<uint32_t>>>
leastDecided(const SubModel &sub, const Messages &messages) {
  double least = std::numeric_limits<double>::infinity();
  std::optional<std::pair<uint32_t, std::vector<uint32_t>>> split;
  std::vector<double> hat;
  for (uint32_t v = 0; v != sub.model.variables.size(); ++v) {
    messages.belief(v, hat);
    auto best = std::ranges::min_element(hat);
    double second = std::numeric_limits<double>::infinity();
    for (auto it = hat.begin(); it != hat.end(); ++it) {
      second = it == best ? second : std::min(second, *it);
    }
    double margin = (second - *best) * messages.share(v);
    if (margin < least) {
      least = margin;
      split = {sub.variableOf[v], {sub.states[v][best - hat.begin()]}};
    }
  }
  return split;
}

/// Runs the dual on `child`, whose domains are set, from `start`.
int64_t BranchAndBound::evaluate(const DualPoint &start, Expansion &expansion,
                                 Expansion::Child &child, int steps) const {
  SubModel sub = restrict(*model_, child.domains);
  int64_t work = model_->numEntries() / 4 + kNodeWork;
  if (sub.infeasible) {
    child.bound = std::numeric_limits<double>::infinity();
    return work;
  }
  auto consider = [&](const Assignment &taken, Value value) {
    double best = std::min(expansion.cutoff, expansion.found.cost);
    if (value.feasible() && value.cost < best) {
      expansion.found = {sub.expand(taken), value.cost};
    }
  };
  if (sub.model.variables.empty()) {
    consider({}, valueOf(sub.model, {}));
    child.bound = sub.model.constant;
    child.point = start;
    return work;
  }
  Lagrangian lagrangian(sub.model, lower(*model_, sub, start));
  lagrangian.setAmbition(
      std::max(0.1 * (expansion.cutoff - start.bound), 1e-9));
  Wavering wavering(sub);
  wavering.prepare(lagrangian.prices());
  for (int i = 0; i != steps; ++i) {
    lagrangian.step(expansion.cutoff);
    work += lagrangian.workOfStep();
    consider(lagrangian.forwardTaken(), lagrangian.forwardValue());
    consider(lagrangian.backwardTaken(), lagrangian.backwardValue());
    if (i >= steps / 4) {
      wavering.add(lagrangian.forwardTaken());
      wavering.add(lagrangian.backwardTaken());
    }
    if (lagrangian.best().bound >
        expansion.cutoff - 0.1 * toleranceOf(expansion.cutoff)) {
      break;
    }
  }
  child.split = wavering.choose();
  if (!child.split) {
    child.split = leastDecided(sub, lagrangian.messages());
  }
  child.point = lift(*model_, sub, lagrangian.best(), start);
  child.bound = std::max(lagrangian.best().bound, start.bound);
  if (expansion.roundings.empty()) {
    expansion.roundings.push_back(sub.expand(lagrangian.forwardTaken()));
  }
  return work;
}

int64_t BranchAndBound::expand(Expansion &expansion) const {
  const Node &node = nodes_[expansion.node];
  if (!node.split || numLeaves_ >= mostLeaves_) {
    // Of the root nothing is known yet, or there is no room for more.
    Expansion::Child &child = expansion.children.emplace_back(
        Expansion::Child{.domains = node.domains});
    return evaluate(node.point, expansion, child, 4 * kSteps);
  }
  expansion.splits = true;
  expansion.variable = node.split->first;
  const std::vector<uint32_t> &lower = node.split->second;
  int64_t work = 0;
  for (bool low : {true, false}) {
    std::vector<uint32_t> kept;
    for (uint32_t s : node.domains[expansion.variable]) {
      if (std::ranges::binary_search(lower, s) == low) {
        kept.push_back(s);
      }
    }
    Domains domains = node.domains;
    domains.set(expansion.variable, kept);
    Expansion::Child &child = expansion.children.emplace_back(
        Expansion::Child{.kept = kept, .domains = std::move(domains)});
    work += evaluate(node.point, expansion, child, kSteps);
  }
  return work;
}

void BranchAndBound::put(std::vector<Expansion> expansions, double cutoff) {
  for (Expansion &expansion : expansions) {
    if (expansion.children.empty()) {
      open_.push_back(expansion.node); // Interrupted before it began.
      continue;
    }
    if (!expansion.splits) {
      Node &node = nodes_[expansion.node];
      Expansion::Child &child = expansion.children[0];
      bool known = node.split.has_value();
      node.split = std::move(child.split);
      if (child.bound > node.bound) {
        node.bound = child.bound;
        node.point = std::move(child.point);
      }
      if (node.split || known) {
        open_.push_back(expansion.node);
      } else {
        least_ = std::min(least_, node.bound);
      }
      continue;
    }
    for (Expansion::Child &child : expansion.children) {
      uint32_t number = uint32_t(nodes_.size());
      nodes_.push_back({.parent = int32_t(expansion.node),
                        .variable = expansion.variable,
                        .kept = std::move(child.kept),
                        .domains = std::move(child.domains),
                        .point = std::move(child.point),
                        .bound = child.bound,
                        .split = std::move(child.split)});
      double enough = cutoff - toleranceOf(cutoff);
      if (child.bound <= enough) {
        open_.push_back(number);
      }
    }
    Node &parent = nodes_[expansion.node];
    parent.leaf = false;
    parent.point = {};
    parent.domains = Domains(Assignment());
    ++numLeaves_;
  }
}

void BranchAndBound::certify(const Certifier &certifier,
                             Certificate &certificate, unsigned threads) {
  std::vector<BoundNode> &tree = certificate.tree;
  tree.resize(nodes_.size());
  double cutoff = double(*certificate.cutoff);
  auto makeEvery = [&](size_t begin, size_t step) {
    for (size_t i = begin; i < nodes_.size(); i += step) {
      Node &node = nodes_[i];
      if (node.leaf) {
        SubModel sub = restrict(*model_, node.domains);
        tree[i] =
            sub.infeasible
                ? certifier.makeInfeasible(sub, cutoff)
                : certifier.makeNode(lower(*model_, sub, node.point), sub);
        node.point = {};
      }
      tree[i].parent = node.parent;
      if (node.parent >= 0) {
        tree[i].variable = certifier.nodeOf(node.variable);
        tree[i].kept = certifier.statesOf(node.variable, node.kept);
      }
    }
  };
  if (threads > 1) {
    std::thread thread([&] { makeEvery(1, 2); });
    makeEvery(0, 2);
    thread.join();
  } else {
    makeEvery(0, 1);
  }
}

} // namespace divisi::search
