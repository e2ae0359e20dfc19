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
  std::vector<int64_t> times;
  if (problem.usageLimit) {
    times = maximalTimes(problem);
  }
  leaves_ = std::bit_ceil(std::max<size_t>(times.size(), 1));
  most_.assign(2 * leaves_, 0);
  added_.assign(2 * leaves_, 0);
  for (uint32_t v = 0; v != problem.nodes.size(); ++v) {
    const Node &node = problem.nodes[v];
    nodeTimes_.push_back(rangeOf(times, node.live));
    sums_.add(node.costs[plan_[v]], 1);
    addUsage(nodeTimes_[v], node.usages[plan_[v]]);
  }
  for (uint32_t e = 0; e != problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    uint32_t s = plan_[edge.from], t = plan_[edge.to];
    edgeTimes_.push_back(edge.usages ? rangeOf(times, edge.live) : TimeRange());
    sums_.add(problem.matrices[edge.costs].at(s, t), 1);
    if (edge.usages) {
      addUsage(edgeTimes_[e], problem.matrices[*edge.usages].at(s, t));
    }
    edgesOf_[edge.from].push_back(e);
    if (edge.from != edge.to) {
      edgesOf_[edge.to].push_back(e);
    }
  }
  budget.spend(int64_t(problem.nodes.size() + problem.edges.size()));
  scalePenalties();
}

void CostJudge::scalePenalties() {
  perForbidden_ = std::max(std::abs(double(sums_.cost)), 1.0);
  double limit = double(problem_.usageLimit.value_or(0));
  perByte_ = 10 * perForbidden_ / std::max(limit, 1.0);
}

double CostJudge::penalized(const Sums &sums, Wide excess) const {
  return double(sums.cost) + perForbidden_ * double(sums.forbidden) +
         perByte_ * double(excess);
}

Wide CostJudge::excess() const {
  if (!problem_.usageLimit) {
    return 0;
  }
  return std::max<Wide>(most_[1] - *problem_.usageLimit, 0);
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
  forEachEdge(move, [&](uint32_t e, const Edge &edge) {
    if (edge.usages) {
      addUsage(edgeTimes_[e], sign * Wide(problem_.matrices[*edge.usages].at(
                                         plan_[edge.from], plan_[edge.to])));
    }
  });
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
  if (problem_.usageLimit) {
    auto useNodes = [&](int sign) {
      for (const Change &old : exchanged_) {
        const std::vector<int64_t> &usages = problem_.nodes[old.node].usages;
        addUsage(nodeTimes_[old.node],
                 sign * (Wide(usages[plan_[old.node]]) - usages[old.strategy]));
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

} // namespace divisi::search
