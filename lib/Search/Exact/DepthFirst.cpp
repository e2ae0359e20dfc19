//===- DepthFirst.cpp - Depth-first branch and bound ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DepthFirst.h"

#include <algorithm>

namespace divisi::search {

Wide Guide::value(Wide sum) const {
  Wide scaled = sum - offset;
  Wide quotient = scaled / scale;
  return quotient + (scaled % scale > 0 ? 1 : 0);
}

/// Whether a leaf of this bound and excess could be better than the best.
bool DepthFirst::canCount(const Guide &guide, Wide bound, Wide excess) const {
  if (bound >= kForbiddenWideSum) {
    return false;
  }
  if (goal_ == Goal::Excess) {
    return !value_ || (excess < *value_ && guide.value(bound) < *value_);
  }
  return (!exact_.idleExcess || excess <= 0) &&
         (!value_ || guide.value(bound) < *value_);
}

void DepthFirst::open(Frame &frame, const Guide &guide, size_t depth,
                      Wide bound) {
  guide.tables.rows(variable(depth), states_, added_, budget_);
  frame.candidates.clear();
  frame.next = 0;
  for (uint32_t s = 0; s != added_.size(); ++s) {
    if (bound + added_[s] < kForbiddenWideSum) {
      frame.candidates.push_back({bound + added_[s], s});
    }
  }
  std::ranges::sort(frame.candidates);
}

Wide DepthFirst::cost() const {
  Wide cost = 0;
  for (const Factor &factor : exact_.costs) {
    size_t at = 0;
    for (uint32_t v : factor.scope) {
      at = at * exact_.sizes[v] + states_[v];
    }
    cost += factor.values[at];
  }
  return cost;
}

void DepthFirst::offerLeaf(Wide excess) {
  Wide value = goal_ == Goal::Excess ? excess : cost();
  if (!value_ || value < *value_) {
    value_ = value;
    best_ = states_;
    if (onBetter) {
      onBetter();
    }
  }
}

/// With a stack of its own: problems are deeper than the thread's stack. States
/// of a variable are tried in order of their bounds, so the first that cannot
/// count ends them all.
bool DepthFirst::search(const Guide &guide) {
  std::vector<Frame> frames(order_.size());
  Wide least = usage_.largest();
  if (!canCount(guide, guide.tables.bound(), least)) {
    return true;
  }
  if (order_.empty()) {
    offerLeaf(least);
    return true;
  }
  frames[0].excess = least;
  open(frames[0], guide, 0, guide.tables.bound());
  size_t depth = 0;
  while (true) {
    Frame &frame = frames[depth];
    uint32_t v = variable(depth);
    if (frame.assigned) {
      usage_.release(v);
      frame.assigned = false;
    }
    bool spent = budget_.over();
    if (spent || frame.next == frame.candidates.size() ||
        !canCount(guide, frame.candidates[frame.next].first, frame.excess)) {
      if (depth == 0) {
        return !spent;
      }
      --depth;
      continue;
    }
    auto [bound, state] = frame.candidates[frame.next++];
    states_[v] = state;
    Wide excess = std::max(frame.excess, usage_.assign(v, state, budget_));
    frame.assigned = true;
    if (!canCount(guide, bound, excess)) {
      continue;
    }
    if (depth + 1 == order_.size()) {
      offerLeaf(excess);
      continue;
    }
    frames[++depth].excess = excess;
    open(frames[depth], guide, depth, bound);
  }
}

/// Takes the state of least bound at each variable, and gives the usages back
/// when it is done.
std::optional<std::vector<Wide>> DepthFirst::descend(const Guide &guide) {
  std::optional<std::vector<Wide>> result;
  Wide bound = guide.tables.bound();
  Frame frame;
  size_t depth = 0;
  for (; depth != order_.size(); ++depth) {
    open(frame, guide, depth, bound);
    if (frame.candidates.empty()) {
      break;
    }
    bound = frame.candidates.front().first;
    states_[variable(depth)] = frame.candidates.front().second;
    usage_.assign(variable(depth), states_[variable(depth)], budget_);
  }
  if (depth == order_.size()) {
    result.emplace(usage_.excess().begin(), usage_.excess().end());
    if (canCount(guide, bound, usage_.largest())) {
      offerLeaf(usage_.largest());
    }
  }
  while (depth-- != 0) {
    usage_.release(variable(depth));
  }
  return result;
}

} // namespace divisi::search
