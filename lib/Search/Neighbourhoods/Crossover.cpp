//===- Crossover.cpp - One answer first, another from then on -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crossover.h"

#include <algorithm>
#include <numeric>

namespace divisi::search {

/// How many earlier assignments of each kind are crossed.
static constexpr size_t kRemembered = 2;
/// How many cuts are looked at beside those that find where memory ends.
static constexpr size_t kCuts = 8;

namespace {
/// Sums in which what is forbidden does not swallow the rest.
class CostSum {
public:
  void add(double cost) { count(cost, 1); }
  void take(double cost) { count(cost, -1); }
  double value() const { return forbidden_ != 0 ? kTop : sum_; }

private:
  void count(double cost, int sign) {
    if (cost >= kForbidden) {
      forbidden_ += sign;
    } else {
      sum_ += sign * cost;
    }
  }
  double sum_ = 0;
  int64_t forbidden_ = 0;
};
} // namespace

/// What `head` before and `tail` from a variable on cost, for each variable and
/// the end.
static std::vector<double> costsOfCuts(const CostGraph &graph,
                                       const Assignment &head,
                                       const Assignment &tail) {
  CostSum sum;
  sum.add(graph.constant);
  Assignment at = tail;
  auto costOf = [&](uint32_t p) {
    const Pair &pair = graph.pairs[p];
    return pair.table->at(at[pair.first], at[pair.second]);
  };
  for (uint32_t v = 0; v != at.size(); ++v) {
    sum.add(graph.variables[v].costs[at[v]]);
  }
  for (uint32_t p = 0; p != graph.pairs.size(); ++p) {
    sum.add(costOf(p));
  }
  std::vector<double> costs = {sum.value()};
  for (uint32_t v = 0; v != at.size(); ++v) {
    if (head[v] != tail[v]) {
      sum.take(graph.variables[v].costs[tail[v]]);
      sum.add(graph.variables[v].costs[head[v]]);
      for (uint32_t p : graph.pairsOf[v]) {
        sum.take(costOf(p));
      }
      at[v] = head[v];
      for (uint32_t p : graph.pairsOf[v]) {
        sum.add(costOf(p));
      }
    }
    costs.push_back(sum.value());
  }
  return costs;
}

static Assignment cutAt(const Assignment &head, const Assignment &tail,
                        size_t cut) {
  Assignment both = tail;
  std::copy_n(head.begin(), cut, both.begin());
  return both;
}

/// Bisects for where memory ends, as if it did so once; of the cuts on the
/// side that fits the cheapest are looked at.
void Crossover::cross(const Assignment &head, const Assignment &tail,
                      bool headFits, Incumbent &best) {
  std::vector<double> costs = costsOfCuts(*graph_, head, tail);
  work_ += workOfLook_;
  auto look = [&](size_t cut) {
    work_ += workOfLook_;
    Assignment both = cutAt(head, tail, cut);
    Value value = valueOf(*graph_, both);
    if (value.feasible() && value.cost < best.cost) {
      best = {std::move(both), value.cost};
    }
    return value.excess <= 0;
  };
  size_t begin = 0, end = head.size();
  while (end - begin > 1) {
    size_t middle = std::midpoint(begin, end);
    (look(middle) == headFits ? end : begin) = middle;
  }
  std::vector<size_t> cuts(headFits ? head.size() - begin : end);
  std::iota(cuts.begin(), cuts.end(), headFits ? end : 1);
  if (cuts.size() > kCuts) {
    std::ranges::nth_element(cuts, cuts.begin() + kCuts, {},
                             [&](size_t cut) { return costs[cut]; });
    cuts.resize(kCuts);
  }
  for (size_t cut : cuts) {
    if (costs[cut] < best.cost) {
      look(cut);
    }
  }
}

int64_t Crossover::add(const Assignment &parent, Incumbent &best) {
  work_ = workOfLook_;
  Value value = valueOf(*graph_, parent);
  bool fits = value.excess <= 0;
  if (value.feasible() && value.cost < best.cost) {
    best = {parent, value.cost};
  }
  std::deque<Assignment> &alike = fits ? fitting_ : exceeding_;
  // What is too large and no cheaper has nothing to give.
  if (value.cost >= (fits ? kForbidden : best.cost) ||
      std::ranges::find(alike, parent) != alike.end()) {
    return work_;
  }
  for (const Assignment &other : fits ? exceeding_ : fitting_) {
    if (work_ < allowed_) {
      cross(parent, other, fits, best);
      cross(other, parent, !fits, best);
    }
  }
  allowed_ -= work_;
  alike.push_back(parent);
  if (alike.size() > kRemembered) {
    alike.pop_front();
  }
  return work_;
}

} // namespace divisi::search
