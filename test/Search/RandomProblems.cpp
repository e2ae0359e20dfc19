//===- RandomProblems.cpp - Small problems, and their answers -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProblems.h"

#include <algorithm>

namespace divisi::search {

const char *toString(Shape shape) {
  static constexpr const char *kNames[] = {
      "Chain", "Tree", "Grid", "Dense", "Program", "Permutation", "Parallel"};
  return kNames[size_t(shape)];
}

std::optional<Wide> costOf(const Problem &problem,
                           const std::vector<uint32_t> &chosen) {
  Wide cost = 0;
  for (size_t v = 0; v != chosen.size(); ++v) {
    if (problem.nodes[v].costs[chosen[v]] >= kInfeasible) {
      return std::nullopt;
    }
    cost += problem.nodes[v].costs[chosen[v]];
  }
  for (const Edge &edge : problem.edges) {
    int64_t entry =
        problem.matrices[edge.costs].at(chosen[edge.from], chosen[edge.to]);
    if (entry >= kInfeasible) {
      return std::nullopt;
    }
    cost += entry;
  }
  return cost;
}

template <typename NodeOrEdge>
static bool livesAt(const NodeOrEdge &user, int64_t time) {
  auto covers = [time](Lifetime live) {
    return live.begin <= time && time < live.end;
  };
  return covers(user.live) || std::ranges::any_of(user.moreLives, covers);
}

static Wide usageAt(const Problem &problem, const std::vector<uint32_t> &chosen,
                    uint32_t resource, int64_t time) {
  Wide usage = 0;
  for (size_t v = 0; v != chosen.size(); ++v) {
    const Node &node = problem.nodes[v];
    if (!livesAt(node, time)) {
      continue;
    }
    if (resource == 0) {
      usage += node.usages[chosen[v]];
    } else if (resource <= node.moreUsages.size() &&
               !node.moreUsages[resource - 1].empty()) {
      usage += node.moreUsages[resource - 1][chosen[v]];
    }
  }
  for (const Edge &edge : problem.edges) {
    std::optional<uint32_t> matrix = resource == 0 ? edge.usages
                                     : resource <= edge.moreUsages.size()
                                         ? edge.moreUsages[resource - 1]
                                         : std::nullopt;
    if (matrix && livesAt(edge, time)) {
      usage += problem.matrices[*matrix].at(chosen[edge.from], chosen[edge.to]);
    }
  }
  return usage;
}

Wide peakOf(const Problem &problem, const std::vector<uint32_t> &chosen,
            uint32_t resource) {
  Wide peak = 0;
  auto look = [&](const auto &user) {
    peak = std::max(peak, usageAt(problem, chosen, resource, user.live.begin));
    for (Lifetime again : user.moreLives) {
      peak = std::max(peak, usageAt(problem, chosen, resource, again.begin));
    }
  };
  std::ranges::for_each(problem.nodes, look);
  std::ranges::for_each(problem.edges, look);
  return peak;
}

static bool isWithin(const Problem &problem, uint32_t resource, Wide peak) {
  std::optional<int64_t> limit = problem.limitOf(resource);
  return !limit || peak <= *limit;
}

static void tryAll(const Problem &problem, std::vector<uint32_t> &chosen,
                   std::optional<Wide> &cheapest, Reference &reference) {
  if (chosen.size() != problem.nodes.size()) {
    size_t count = problem.nodes[chosen.size()].costs.size();
    for (uint32_t s = 0; s != count; ++s) {
      chosen.push_back(s);
      tryAll(problem, chosen, cheapest, reference);
      chosen.pop_back();
    }
    return;
  }
  std::optional<Wide> cost = costOf(problem, chosen);
  if (!cost) {
    return;
  }
  for (uint32_t r = 1; r != problem.numResources(); ++r) {
    if (!isWithin(problem, r, peakOf(problem, chosen, r))) {
      return;
    }
  }
  Wide peak = peakOf(problem, chosen);
  if (!reference.leastPeak || peak < *reference.leastPeak) {
    reference.leastPeak = peak;
  }
  if (!cheapest || *cost < *cheapest) {
    cheapest = cost;
    reference.peakOfBest = peak;
  }
  bool fits = isWithin(problem, 0, peak);
  if (fits && (!reference.optimum || *cost < *reference.optimum)) {
    reference.optimum = cost;
    reference.assignment = chosen;
  }
}

std::optional<Wide> leastPeak(const Problem &problem, uint32_t resource) {
  std::optional<Wide> least;
  std::vector<uint32_t> chosen(problem.nodes.size(), 0);
  for (size_t v = 0; v != chosen.size();) {
    bool fits = costOf(problem, chosen).has_value();
    for (uint32_t r = 0; r != problem.numResources() && fits; ++r) {
      fits = r == resource || isWithin(problem, r, peakOf(problem, chosen, r));
    }
    if (fits) {
      Wide peak = peakOf(problem, chosen, resource);
      least = std::min(least.value_or(peak), peak);
    }
    // The next assignment, as a number is counted up.
    for (v = 0; v != chosen.size(); ++v) {
      if (++chosen[v] != problem.nodes[v].costs.size()) {
        break;
      }
      chosen[v] = 0;
    }
  }
  return least;
}

Reference bruteForce(const Problem &problem) {
  Reference reference;
  std::vector<uint32_t> chosen;
  std::optional<Wide> cheapest;
  tryAll(problem, chosen, cheapest, reference);
  return reference;
}

namespace {
class Generator {
public:
  Generator(Shape shape, uint64_t seed, uint64_t maxAssignments)
      : dice_(seed * 16 + uint64_t(shape)), shape_(shape),
        room_(maxAssignments) {
    static constexpr int64_t kScales[] = {5, 60, 1'000'000,
                                          300'000'000'000'000'000};
    scale_ = kScales[dice_.below(4)];
    forbids_ = dice_.oneIn(2);
    negative_ = dice_.oneIn(4);
  }

  Problem make() {
    addNodes();
    switch (shape_) {
    case Shape::Chain:
      joinTo([](uint32_t v) { return v - 1; });
      break;
    case Shape::Tree:
      joinTo([&](uint32_t v) { return uint32_t(dice_.below(v)); });
      break;
    case Shape::Grid:
    case Shape::Permutation:
      joinGrid();
      break;
    case Shape::Dense:
      joinDense();
      break;
    case Shape::Program:
      joinTo([&](uint32_t v) { return uint32_t(dice_.below(v)); });
      joinTo([&](uint32_t v) { return uint32_t(dice_.below(v)); });
      break;
    case Shape::Parallel:
      joinAnyhow();
      break;
    }
    return std::move(problem_);
  }

private:
  uint32_t count() const { return uint32_t(problem_.nodes.size()); }
  size_t size(uint32_t v) const { return problem_.nodes[v].costs.size(); }

  int64_t cost() {
    int64_t cost = int64_t(dice_.below(uint64_t(scale_)));
    return negative_ && dice_.oneIn(2) ? -cost : cost;
  }

  void addNodes() {
    uint64_t count = 1 + dice_.below(shape_ == Shape::Parallel ? 5 : 9);
    bool longLives = dice_.oneIn(3);
    for (uint64_t v = 0; v != count; ++v) {
      Node &node = problem_.nodes.emplace_back();
      uint64_t choices = 1 + dice_.below(5);
      choices = std::min(choices, std::max<uint64_t>(room_, 1));
      room_ /= choices;
      for (uint64_t s = 0; s != choices; ++s) {
        node.costs.push_back(forbids_ && dice_.oneIn(9) ? kInfeasible : cost());
        node.usages.push_back(int64_t(dice_.below(20)));
      }
      if (choices > 1 && dice_.oneIn(4)) { // A duplicate, or dominated.
        node.costs[1] = node.costs[0];
        node.usages[1] = node.usages[0] + int64_t(dice_.below(2));
      }
      node.live.begin = int64_t(v + dice_.below(2));
      node.live.end = node.live.begin;
      if (!dice_.oneIn(8)) {
        node.live.end += 1 + int64_t(dice_.below(longLives ? 9 : 3));
      }
    }
  }

  uint32_t addMatrix(uint32_t from, uint32_t to) {
    problem_.matrices.push_back({uint32_t(size(from)), uint32_t(size(to)), {}});
    Matrix &matrix = problem_.matrices.back();
    matrix.entries.resize(size(from) * size(to));
    return uint32_t(problem_.matrices.size() - 1);
  }

  void fill(Matrix &matrix) {
    for (int64_t &entry : matrix.entries) {
      entry = forbids_ && dice_.oneIn(6) ? kInfeasible + int64_t(dice_.below(2))
                                         : cost();
    }
  }

  /// Each row has at most one partner, and each column: the rest is infeasible.
  void permute(Matrix &matrix) {
    std::ranges::fill(matrix.entries, kInfeasible);
    uint32_t shift = uint32_t(dice_.below(matrix.columns));
    for (uint32_t r = 0; r != std::min(matrix.rows, matrix.columns); ++r) {
      matrix
          .entries[size_t(r) * matrix.columns + (r + shift) % matrix.columns] =
          dice_.oneIn(2) ? 0 : cost();
    }
  }

  void join(uint32_t from, uint32_t to) {
    Edge &edge = problem_.edges.emplace_back();
    edge.from = from;
    edge.to = to;
    edge.costs = addMatrix(from, to);
    Matrix &matrix = problem_.matrices[edge.costs];
    if (shape_ == Shape::Permutation && !dice_.oneIn(3)) {
      permute(matrix);
    } else {
      fill(matrix);
    }
    if (from == to || !dice_.oneIn(5)) {
      return;
    }
    edge.usages = addMatrix(from, to);
    for (int64_t &entry : problem_.matrices[*edge.usages].entries) {
      entry = int64_t(dice_.below(12));
    }
    edge.live.begin = int64_t(dice_.below(count()));
    edge.live.end = edge.live.begin + int64_t(dice_.below(3));
  }

  template <typename Parent> void joinTo(Parent parent) {
    for (uint32_t v = 1; v < count(); ++v) {
      join(parent(v), v);
    }
  }

  void joinGrid() {
    uint32_t width = 2 + uint32_t(dice_.below(2));
    for (uint32_t v = 0; v != count(); ++v) {
      if ((v + 1) % width != 0 && v + 1 < count()) {
        join(v, v + 1);
      }
      if (v + width < count()) {
        join(v, v + width);
      }
    }
  }

  void joinDense() {
    for (uint32_t v = 0; v != count(); ++v) {
      for (uint32_t u = 0; u != v; ++u) {
        if (!dice_.oneIn(8)) {
          join(u, v);
        }
      }
    }
  }

  void joinAnyhow() {
    for (uint64_t e = 0, edges = dice_.below(12); e != edges; ++e) {
      uint32_t from = uint32_t(dice_.below(count()));
      uint32_t to = uint32_t(dice_.below(count()));
      join(from, to);
      if (dice_.oneIn(3)) { // The same matrix once more.
        problem_.edges.push_back(Edge(problem_.edges.back()));
      }
    }
  }

  Dice dice_;
  Shape shape_;
  uint64_t room_; ///< How many assignments more there may be.
  int64_t scale_;
  bool forbids_, negative_;
  Problem problem_;
};
} // namespace

Problem randomProblem(Shape shape, uint64_t seed, uint64_t maxAssignments) {
  Problem problem = Generator(shape, seed, maxAssignments).make();
  problem.name = std::string(toString(shape)) + " " + std::to_string(seed);
  return problem;
}

Problem limitedProblem(uint64_t seed, uint64_t maxAssignments, bool enrich) {
  Shape shape = kShapes[seed % std::size(kShapes)];
  Problem problem = randomProblem(shape, seed, maxAssignments);
  if (enrich) {
    problem = withMoreMemory(std::move(problem), seed);
  }
  Dice dice(seed);
  LimitKind kind = kLimitKinds[dice.below(std::size(kLimitKinds))];
  problem.usageLimit = limitOf(kind, bruteForce(problem), dice);
  return problem;
}

std::optional<Solution> cheapest(const Problem &problem) {
  Reference reference = bruteForce(problem);
  return reference.optimum
             ? std::optional(evaluate(problem, reference.assignment))
             : std::nullopt;
}

std::optional<int64_t> limitOf(LimitKind kind, const Reference &reference,
                               Dice &dice) {
  if (kind == LimitKind::None || !reference.leastPeak) {
    return std::nullopt;
  }
  int64_t least = int64_t(*reference.leastPeak);
  int64_t most = int64_t(*reference.peakOfBest);
  switch (kind) {
  case LimitKind::None:
    break;
  case LimitKind::Loose:
    return most + int64_t(dice.below(3));
  case LimitKind::Tight:
    return least + int64_t(dice.below(uint64_t(most - least) + 1));
  case LimitKind::JustEnough:
    return least;
  case LimitKind::TooSmall:
    return std::max<int64_t>(least - 1, 0);
  case LimitKind::Hopeless:
    return least / 2;
  }
  return std::nullopt;
}

} // namespace divisi::search
