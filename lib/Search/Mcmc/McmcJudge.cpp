//===- McmcJudge.cpp - What an assignment costs Metropolis-Hastings -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A move of one node costs its edges, and log(times) for its memory.
//
//===----------------------------------------------------------------------===//

#include "Mcmc.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace divisi::search {

void CostJudge::Sums::add(int64_t value, int sign) {
  if (value >= kInfeasible) {
    forbidden += sign;
  } else {
    cost += sign * Wide(value);
  }
}

/// Usage over time is a segment tree with a leaf for each maximal time, so that
/// a move changes a logarithm of them.
CostJudge::CostJudge(const Problem &problem, std::vector<uint32_t> plan,
                     Budget &budget)
    : problem_(problem), plan_(std::move(plan)), budget_(budget),
      edgesOf_(problem.nodes.size()), done_(problem.nodes.size(), false) {
  layOutTimes();
  for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
    sums_.add(problem.nodes[v].costs[plan_[v]], 1);
    for (const auto &[times, usages] : nodeUses_[v]) {
      addUsage(times, (*usages)[plan_[v]]);
    }
  }
  for (uint32_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    sums_.add(problem.matrices[edge.costs].at(plan_[edge.from], plan_[edge.to]),
              1);
    useEdge(e, 1);
    edgesOf_[edge.from].push_back(e);
    if (edge.from != edge.to) {
      edgesOf_[edge.to].push_back(e);
    }
  }
  budget.spend(int64_t(problem.nodes.size() + problem.edges.size()));
  scalePenalties();
}

/// A leaf begins as far below zero as there is room.
void CostJudge::layOutTimes() {
  std::vector<Moment> times = maximalTimes(problem_);
  leaves_ = std::bit_ceil(std::max<size_t>(times.size(), 1));
  most_.assign(2 * leaves_, 0);
  added_.assign(2 * leaves_, 0);
  std::optional<int64_t> least;
  for (uint32_t r = 0; r != problem_.numResources(); ++r) {
    if (auto limit = problem_.limitOf(r)) {
      least = std::min(least.value_or(*limit), *limit);
    }
  }
  leastLimit_ = double(least.value_or(0));
  idleExcess_ = -Wide(least.value_or(0));
  for (size_t t = 0; t != leaves_; ++t) {
    most_[leaves_ + t] = t < times.size()
                             ? -Wide(*problem_.limitOf(times[t].resource))
                             : idleExcess_;
  }
  for (size_t at = leaves_; at-- > 1;) {
    most_[at] = std::max(most_[2 * at], most_[2 * at + 1]);
  }
  auto add = [&](auto &uses, const auto &user, uint32_t resource, auto usages) {
    forEachLife(user, [&](Lifetime live) {
      if (TimeRange range = rangeOf(times, resource, live); !range.empty()) {
        uses.push_back({range, usages});
      }
    });
  };
  for (const Node &node : problem_.nodes) {
    auto &uses = nodeUses_.emplace_back();
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
      add(uses, node, r, &usages);
    });
  }
  for (const Edge &edge : problem_.edges) {
    auto &uses = edgeUses_.emplace_back();
    forEachUsage(
        edge, [&](uint32_t r, uint32_t matrix) { add(uses, edge, r, matrix); });
  }
}

void CostJudge::scalePenalties() {
  perForbidden_ = std::max(std::abs(double(sums_.cost)), 1.0);
  perByte_ = 10 * perForbidden_ / std::max(leastLimit_, 1.0);
}

double CostJudge::penalized(const Sums &sums, Wide excess) const {
  return double(sums.cost) + perForbidden_ * double(sums.forbidden) +
         perByte_ * double(excess);
}

Wide CostJudge::excess() const {
  return problem_.isLimited() ? std::max<Wide>({most_[1], idleExcess_, Wide(0)})
                              : 0;
}

void CostJudge::useEdge(uint32_t e, int sign) {
  const Edge &edge = problem_.edges[e];
  for (const auto &[times, matrix] : edgeUses_[e]) {
    addUsage(times, sign * Wide(problem_.matrices[matrix].at(plan_[edge.from],
                                                             plan_[edge.to])));
  }
}

/// Adds to the subtrees that cover the range, going up from both of its ends,
/// then mends the maxima above.
void CostJudge::addUsage(TimeRange times, Wide bytes) {
  if (times.empty() || bytes == 0) {
    return;
  }
  auto add = [&](size_t at) {
    most_[at] += bytes;
    added_[at] += bytes;
  };
  auto mend = [&](size_t at) {
    for (at /= 2; at != 0; at /= 2) {
      most_[at] = std::max(most_[2 * at], most_[2 * at + 1]) + added_[at];
    }
  };
  size_t first = leaves_ + times.begin, last = leaves_ + times.end - 1;
  for (size_t low = first, high = last + 1; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) {
      add(low++);
    }
    if (high % 2 == 1) {
      add(--high);
    }
  }
  mend(first);
  mend(last);
  budget_.spend(2 * std::bit_width(leaves_));
}

/// Each edge of a node of `move` once.
template <typename Callback>
void CostJudge::forEachEdge(std::span<const Change> move, Callback callback) {
  for (const Change &change : move) {
    for (uint32_t e : edgesOf_[change.node]) {
      const Edge &edge = problem_.edges[e];
      if (!done_[edge.from ^ edge.to ^ change.node]) {
        callback(e, edge);
      }
    }
    done_[change.node] = move.size() != 1;
  }
  for (const Change &change : move) {
    done_[change.node] = false;
  }
}

void CostJudge::addAround(std::span<const Change> move, int sign, Sums &sums) {
  int64_t work = 0;
  for (const Change &change : move) {
    sums.add(problem_.nodes[change.node].costs[plan_[change.node]], sign);
    work += 1 + int64_t(edgesOf_[change.node].size());
  }
  forEachEdge(move, [&](uint32_t, const Edge &edge) {
    sums.add(problem_.matrices[edge.costs].at(plan_[edge.from], plan_[edge.to]),
             sign);
  });
  budget_.spend(work);
}

void CostJudge::useAround(std::span<const Change> move, int sign) {
  forEachEdge(move, [&](uint32_t e, const Edge &) { useEdge(e, sign); });
}

void CostJudge::exchange(std::vector<Change> &move) {
  for (Change &change : move) {
    std::swap(plan_[change.node], change.strategy);
  }
}

/// Costs first, by difference: they alone refuse most moves. Usage is changed
/// in place, and changed back if it is too much.
bool CostJudge::tryMove(std::span<const Change> move, double most) {
  exchanged_.assign(move.begin(), move.end());
  Sums sums = sums_;
  addAround(move, -1, sums);
  exchange(exchanged_);
  addAround(move, 1, sums);
  if (penalized(sums, 0) > most) { // Memory can only add to it.
    exchange(exchanged_);
    return false;
  }
  if (problem_.isLimited()) {
    auto useNodes = [&](int sign) {
      for (const Change &old : exchanged_) {
        for (const auto &[times, usages] : nodeUses_[old.node]) {
          addUsage(times, sign * (Wide((*usages)[plan_[old.node]]) -
                                  (*usages)[old.strategy]));
        }
      }
    };
    useNodes(1);
    useAround(move, 1);
    exchange(exchanged_);
    useAround(move, -1);
    exchange(exchanged_);
    if (penalized(sums, excess()) > most) {
      useNodes(-1);
      useAround(move, -1);
      exchange(exchanged_);
      useAround(move, 1);
      return false;
    }
  }
  sums_ = sums;
  if (isFeasible()) {
    scalePenalties();
  }
  return true;
}

TimedJudge::TimedJudge(const Problem &problem, std::vector<uint32_t> plan,
                       Budget &budget, AssignmentTimer &timer)
    : sums_(problem, std::move(plan), budget), budget_(budget), timer_(timer),
      time_(timer.begin(sums_.plan())) {
  budget.spend(timer.work());
}

/// Penalties first, as they need no simulation.
bool TimedJudge::tryMove(std::span<const Change> move, double most) {
  back_.clear();
  for (const Change &change : move) {
    back_.push_back({change.node, plan()[change.node]});
  }
  constexpr double kAnything = std::numeric_limits<double>::infinity();
  sums_.tryMove(move, kAnything);
  if (sums_.penalty() <= most) {
    Wide time = timer_.propose(move);
    budget_.spend(timer_.work());
    if (double(time) + sums_.penalty() <= most) {
      timer_.accept();
      time_ = time;
      return true;
    }
  }
  sums_.tryMove(back_, kAnything);
  return false;
}

} // namespace divisi::search
