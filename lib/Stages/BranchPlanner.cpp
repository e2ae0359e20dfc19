//===- BranchPlanner.cpp - Branches on parts of the devices ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Stages/BranchPlanner.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

using namespace divisi;

/// Of so many branches all groups are tried.
static constexpr size_t kMostTried = 8;

namespace {

/// One problem's regions, and what they take. One use.
class BranchPlanner {
public:
  explicit BranchPlanner(const BranchProblem &problem);

  BranchPlan run();

private:
  struct Region;
  /// Two groups of branches beside each other, and the sizes of their grids.
  struct Split {
    const Region *first, *second;
    size_t firstSize, secondSize;
  };
  /// What a region takes on a grid of one size.
  struct Answer {
    int64_t nanoseconds = 0;
    std::optional<Split> split;
  };
  /// Nodes, ascending.
  struct Region {
    std::vector<size_t> nodes;
    std::vector<const Region *> parts; ///< None: one node.
    bool isBranches = false;           ///< Whether nothing connects the parts.
    int64_t moves = 0; ///< What enters and leaves, to and from another grid.
    mutable std::vector<std::optional<Answer>> answers; ///< Per size.
  };
  using Nodes = std::vector<size_t>;

  void findOrder();
  const Region *regionOf(Nodes nodes);
  void divide(Region &region);
  std::vector<Nodes> sequence(const Nodes &nodes) const;
  std::vector<Nodes> components(const Nodes &nodes) const;
  std::vector<Nodes> withoutSinks(const Nodes &nodes) const;
  int64_t movesOf(const Nodes &nodes) const;
  const Answer &solve(const Region &region, size_t size);
  void splitBranches(const Region &region, size_t size, Answer &answer);
  std::vector<std::vector<bool>> groupings(const Region &region, size_t first,
                                           size_t second);
  void place(const Region &region, DevicePart part, BranchPlan &plan);

  bool areOrdered(size_t a, size_t b) const {
    return before_[std::max(a, b)][std::min(a, b)];
  }

  const BranchProblem &problem_;
  std::vector<std::vector<bool>> before_; ///< [node][an earlier one].
  std::vector<Nodes> users_;
  std::map<Nodes, Region> regions_;
};

} // namespace

bool BranchPlan::isDivided() const {
  return std::any_of(places.begin(), places.end(), [&](const DevicePart &part) {
    return !(part == places.front());
  });
}

BranchPlanner::BranchPlanner(const BranchProblem &problem) : problem_(problem) {
  findOrder();
}

void BranchPlanner::findOrder() {
  size_t count = problem_.nodes.size();
  users_.resize(count);
  for (size_t node = 0; node < count; ++node) {
    std::vector<bool> &before = before_.emplace_back(node);
    for (size_t operand : problem_.nodes[node].operands) {
      before[operand] = true;
      users_[operand].push_back(node);
      for (size_t i = 0; i < operand; ++i) {
        before[i] = before[i] || before_[operand][i];
      }
    }
  }
}

/// The nodes that all paths pass, each by itself, and the nodes between two of
/// them; one set if there is none.
std::vector<BranchPlanner::Nodes>
BranchPlanner::sequence(const Nodes &nodes) const {
  Nodes passed;
  for (size_t node : nodes) {
    if (std::all_of(nodes.begin(), nodes.end(), [&](size_t other) {
          return other == node || areOrdered(node, other);
        })) {
      passed.push_back(node);
    }
  }
  // What lies before the first, between the first and the second, and so on.
  std::vector<Nodes> between(passed.size() + 1);
  for (size_t node : nodes) {
    if (!std::binary_search(passed.begin(), passed.end(), node)) {
      size_t at =
          size_t(std::count_if(passed.begin(), passed.end(), [&](size_t point) {
            return point < node && before_[node][point];
          }));
      between[at].push_back(node);
    }
  }
  std::vector<Nodes> parts;
  for (size_t i = 0; i < between.size(); ++i) {
    if (!between[i].empty()) {
      parts.push_back(std::move(between[i]));
    }
    if (i < passed.size()) {
      parts.push_back({passed[i]});
    }
  }
  return parts;
}

/// Sets of nodes that nothing in `nodes` connects.
std::vector<BranchPlanner::Nodes>
BranchPlanner::components(const Nodes &nodes) const {
  std::vector<size_t> leader(problem_.nodes.size());
  std::iota(leader.begin(), leader.end(), size_t(0));
  auto find = [&](size_t node) {
    while (leader[node] != node) {
      node = leader[node] = leader[leader[node]];
    }
    return node;
  };
  for (size_t node : nodes) {
    for (size_t operand : problem_.nodes[node].operands) {
      if (std::binary_search(nodes.begin(), nodes.end(), operand)) {
        size_t a = find(node), b = find(operand);
        leader[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  std::map<size_t, Nodes> sets;
  for (size_t node : nodes) {
    sets[find(node)].push_back(node);
  }
  std::vector<Nodes> parts;
  for (auto &[first, set] : sets) {
    parts.push_back(std::move(set));
  }
  return parts;
}

/// Values that are made outside and used inside, or the other way round.
int64_t BranchPlanner::movesOf(const Nodes &nodes) const {
  auto isInside = [&](size_t node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  };
  Nodes moved;
  for (size_t node : nodes) {
    for (size_t operand : problem_.nodes[node].operands) {
      if (!isInside(operand)) {
        moved.push_back(operand);
      }
    }
    if (!std::all_of(users_[node].begin(), users_[node].end(), isInside)) {
      moved.push_back(node);
    }
  }
  std::sort(moved.begin(), moved.end());
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
  int64_t sum = 0;
  for (size_t node : moved) {
    sum += problem_.nodes[node].move;
  }
  return sum;
}

const BranchPlanner::Region *BranchPlanner::regionOf(Nodes nodes) {
  auto [known, isNew] = regions_.try_emplace(nodes);
  Region &region = known->second;
  if (isNew) {
    region.nodes = std::move(nodes);
    region.moves = movesOf(region.nodes);
    region.answers.resize(problem_.sizes.size());
    divide(region);
  }
  return &region;
}

/// What nothing in `nodes` reads, behind all others.
std::vector<BranchPlanner::Nodes>
BranchPlanner::withoutSinks(const Nodes &nodes) const {
  Nodes others, sinks;
  for (size_t node : nodes) {
    bool isRead =
        std::any_of(users_[node].begin(), users_[node].end(), [&](size_t user) {
          return std::binary_search(nodes.begin(), nodes.end(), user);
        });
    (isRead ? others : sinks).push_back(node);
  }
  return {std::move(others), std::move(sinks)};
}

void BranchPlanner::divide(Region &region) {
  if (region.nodes.size() == 1) {
    return;
  }
  std::vector<Nodes> parts = sequence(region.nodes);
  if (parts.size() == 1) {
    parts = components(region.nodes);
    region.isBranches = parts.size() > 1;
  }
  if (parts.size() == 1) {
    parts = withoutSinks(region.nodes);
  }
  for (Nodes &part : parts) {
    region.parts.push_back(regionOf(std::move(part)));
  }
}

/// Which branches are in the first of two groups, in all ways that are tried:
/// neither has none.
std::vector<std::vector<bool>>
BranchPlanner::groupings(const Region &region, size_t first, size_t second) {
  size_t count = region.parts.size();
  std::vector<std::vector<bool>> all;
  if (count <= kMostTried) {
    for (size_t bits = 1; bits + 1 < size_t(1) << count; ++bits) {
      if (first == second && bits % 2 == 0) {
        continue; // the same groups the other way round
      }
      std::vector<bool> &group = all.emplace_back(count);
      for (size_t i = 0; i < count; ++i) {
        group[i] = (bits >> i) % 2 != 0;
      }
    }
    return all;
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t(0));
  auto takes = [&](size_t branch, size_t size) {
    return solve(*region.parts[branch], size).nanoseconds;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return takes(a, first) > takes(b, first);
  });
  std::vector<bool> &group = all.emplace_back(count);
  int64_t firstEnd = 0, secondEnd = 0;
  for (size_t branch : order) {
    int64_t inFirst = firstEnd + takes(branch, first);
    int64_t inSecond = secondEnd + takes(branch, second);
    group[branch] = inFirst <= inSecond;
    (group[branch] ? firstEnd : secondEnd) = group[branch] ? inFirst : inSecond;
  }
  if (std::count(group.begin(), group.end(), true) % count == 0) {
    all.clear();
  }
  return all;
}

/// Makes `answer` that of two groups where these take less.
void BranchPlanner::splitBranches(const Region &region, size_t size,
                                  Answer &answer) {
  for (size_t first = 0; first < size; ++first) {
    for (size_t second = 0; second <= first; ++second) {
      if (problem_.sizes[first] + problem_.sizes[second] >
          problem_.sizes[size]) {
        continue;
      }
      for (const std::vector<bool> &group : groupings(region, first, second)) {
        Nodes nodes[2];
        for (size_t i = 0; i < group.size(); ++i) {
          Nodes &own = nodes[group[i] ? 0 : 1];
          const Nodes &more = region.parts[i]->nodes;
          own.insert(own.end(), more.begin(), more.end());
        }
        for (Nodes &own : nodes) {
          std::sort(own.begin(), own.end());
        }
        const Region *a = regionOf(nodes[0]), *b = regionOf(nodes[1]);
        int64_t longer = std::max(solve(*a, first).nanoseconds + a->moves,
                                  solve(*b, second).nanoseconds + b->moves);
        if (longer < answer.nanoseconds) {
          answer = {longer, Split{a, b, first, second}};
        }
      }
    }
  }
}

const BranchPlanner::Answer &BranchPlanner::solve(const Region &region,
                                                  size_t size) {
  std::optional<Answer> &known = region.answers[size];
  if (!known) {
    Answer answer;
    for (const Region *part : region.parts) {
      answer.nanoseconds += solve(*part, size).nanoseconds;
    }
    if (region.parts.empty()) {
      answer.nanoseconds =
          problem_.nodes[region.nodes.front()].nanoseconds[size];
    }
    if (region.isBranches) {
      splitBranches(region, size, answer);
    }
    known = answer;
  }
  return *known;
}

void BranchPlanner::place(const Region &region, DevicePart part,
                          BranchPlan &plan) {
  if (const std::optional<Split> &split = solve(region, part.size).split) {
    place(*split->first, {part.first, split->firstSize}, plan);
    place(*split->second,
          {part.first + problem_.sizes[split->firstSize], split->secondSize},
          plan);
    return;
  }
  for (const Region *inner : region.parts) {
    place(*inner, part, plan);
  }
  if (region.parts.empty()) {
    plan.places[region.nodes.front()] = part;
    plan.order.push_back(region.nodes.front());
  }
}

BranchPlan BranchPlanner::run() {
  BranchPlan plan;
  plan.places.resize(problem_.nodes.size());
  if (problem_.nodes.empty()) {
    return plan;
  }
  Nodes all(problem_.nodes.size());
  std::iota(all.begin(), all.end(), size_t(0));
  const Region *whole = regionOf(std::move(all));
  size_t size = problem_.sizes.size() - 1;
  plan.nanoseconds = solve(*whole, size).nanoseconds;
  place(*whole, {0, size}, plan);
  return plan;
}

BranchPlan divisi::planBranches(const BranchProblem &problem) {
  return BranchPlanner(problem).run();
}
