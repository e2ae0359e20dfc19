//===- Trees.cpp - Exact optimisation of trees, given the rest ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trees.h"

#include <algorithm>
#include <numeric>

namespace divisi::search {

namespace {
constexpr uint32_t kNone = ~0u;

/// The forest that `order` begins, and its dynamic programme.
class Forest {
public:
  Forest(const Model &model, const std::vector<uint32_t> &order)
      : model_(model), component_(model.variables().size()),
        inside_(model.variables().size(), false) {
    std::iota(component_.begin(), component_.end(), 0);
    for (uint32_t v : order) {
      tryToAdd(v);
    }
    arrange(order);
  }

  void optimize(Assignment &assignment) {
    values_.resize(inside_.size());
    for (uint32_t v : arranged_) {
      startValues(v, assignment);
    }
    for (size_t i = arranged_.size(); i-- != 0;) {
      sendToParent(arranged_[i]);
    }
    for (uint32_t v : arranged_) {
      takeBest(v, assignment);
    }
  }

private:
  uint32_t find(uint32_t v) {
    while (component_[v] != v) {
      v = component_[v] = component_[component_[v]];
    }
    return v;
  }

  /// Two links into the same tree would close a cycle.
  void tryToAdd(uint32_t v) {
    std::vector<uint32_t> touched;
    for (const Incidence &end : model_.variables()[v].links) {
      if (inside_[end.other]) {
        touched.push_back(find(end.other));
      }
    }
    std::ranges::sort(touched);
    if (std::ranges::adjacent_find(touched) != touched.end()) {
      return;
    }
    inside_[v] = true;
    for (uint32_t tree : touched) {
      component_[tree] = v;
    }
  }

  /// Parents before children.
  void arrange(const std::vector<uint32_t> &order) {
    parent_.assign(inside_.size(), {kNone, kNone, false});
    std::vector<bool> seen(inside_.size(), false);
    for (uint32_t root : order) {
      if (!inside_[root] || seen[root]) {
        continue;
      }
      seen[root] = true;
      arranged_.push_back(root);
      for (size_t i = arranged_.size() - 1; i != arranged_.size(); ++i) {
        uint32_t v = arranged_[i];
        for (const Incidence &end : model_.variables()[v].links) {
          if (inside_[end.other] && !seen[end.other]) {
            seen[end.other] = true;
            parent_[end.other] = {end.link, v, !end.first};
            arranged_.push_back(end.other);
          }
        }
      }
    }
  }

  void startValues(uint32_t v, const Assignment &assignment) {
    const Variable &variable = model_.variables()[v];
    values_[v] = variable.priced;
    for (const Incidence &end : variable.links) {
      if (inside_[end.other]) {
        continue;
      }
      const double *row =
          model_.row({end.link, v, !end.first}, assignment[end.other]);
      for (size_t s = 0; s != values_[v].size(); ++s) {
        values_[v][s] += row[s];
      }
    }
  }

  void sendToParent(uint32_t v) {
    const Incidence &up = parent_[v];
    if (up.link == kNone) {
      return;
    }
    std::vector<double> &target = values_[up.other];
    std::vector<double> out(target.size(), 1e30);
    size_t count = out.size();
    double *to = out.data();
    for (uint32_t s = 0; s != values_[v].size(); ++s) {
      const double *row = model_.row(up, s);
      double own = values_[v][s];
      for (size_t t = 0; t != count; ++t) {
        double value = own + row[t];
        to[t] = value < to[t] ? value : to[t];
      }
    }
    for (size_t t = 0; t != count; ++t) {
      target[t] += out[t];
    }
  }

  /// Keeps the state that it has if none is better.
  void takeBest(uint32_t v, Assignment &assignment) {
    std::vector<double> &sum = values_[v];
    const Incidence &up = parent_[v];
    if (up.link != kNone) {
      const double *row =
          model_.row({up.link, v, !up.first}, assignment[up.other]);
      for (size_t s = 0; s != sum.size(); ++s) {
        sum[s] += row[s];
      }
    }
    size_t best = size_t(std::ranges::min_element(sum) - sum.begin());
    if (sum[best] < sum[assignment[v]]) {
      assignment[v] = uint32_t(best);
    }
  }

  const Model &model_;
  std::vector<uint32_t> component_;
  std::vector<bool> inside_;
  std::vector<uint32_t> arranged_;
  std::vector<Incidence> parent_; ///< The link to the parent, seen from v.
  std::vector<std::vector<double>> values_;
};
} // namespace

void optimizeForest(const Model &model, const std::vector<uint32_t> &order,
                    Assignment &assignment) {
  Forest(model, order).optimize(assignment);
}

/// Breadth first from `start`, then the rest by index.
static std::vector<uint32_t> breadthFirst(const Model &model, uint32_t start) {
  size_t count = model.variables().size();
  std::vector<uint32_t> order;
  std::vector<bool> seen(count, false);
  for (size_t i = 0; i != count; ++i) {
    uint32_t root = uint32_t((start + i) % count);
    if (seen[root]) {
      continue;
    }
    seen[root] = true;
    order.push_back(root);
    for (size_t at = order.size() - 1; at != order.size(); ++at) {
      for (const Incidence &end : model.variables()[order[at]].links) {
        if (!seen[end.other]) {
          seen[end.other] = true;
          order.push_back(end.other);
        }
      }
    }
  }
  return order;
}

static std::vector<uint32_t> ascending(size_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

static std::vector<uint32_t> shuffled(size_t count, Random &random) {
  std::vector<uint32_t> order = ascending(count);
  for (size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[random.below(uint32_t(i))]);
  }
  return order;
}

void improveByTrees(const Model &model, uint64_t seed, int patience,
                    int64_t &work, Assignment &assignment) {
  uint32_t count = uint32_t(model.variables().size());
  Random random(seed);
  double cost = model.pricedCost(assignment);
  int idle = 0;
  for (int round = 0; idle != patience && count != 0; ++round) {
    std::vector<uint32_t> order;
    if (round == 0) {
      order = ascending(count);
    } else if (round == 1) {
      order = ascending(count);
      std::ranges::reverse(order);
    } else if (round % 2 == 0) {
      order = breadthFirst(model, random.below(count));
    } else {
      order = shuffled(count, random);
    }
    optimizeForest(model, order, assignment);
    work -= 2 * model.size();
    double now = model.pricedCost(assignment);
    idle = now < cost ? 0 : idle + 1;
    cost = std::min(cost, now);
    if (work <= 0) {
      return;
    }
  }
}

} // namespace divisi::search
