//===- Memory.cpp - Staying within the limit ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>

namespace divisi::search {

namespace {
/// An assignment with its usage, kept up to date under single moves.
class State {
public:
  State(const Model &model, Assignment &assignment)
      : model_(model), assignment_(assignment),
        usage_(model.usage(assignment)) {}

  const Usage &usage() const { return usage_; }

  double costChange(uint32_t v, uint32_t state) const {
    const Variable &variable = model_.variables()[v];
    uint32_t now = assignment_[v];
    double change = variable.base[state] - variable.base[now];
    for (const Incidence &end : variable.links) {
      const double *row =
          model_.row({end.link, v, !end.first}, assignment_[end.other]);
      change += row[state] - row[now];
    }
    return change;
  }

  /// How much less (positive) is used in `segment` after a move.
  double relief(uint32_t v, uint32_t state, size_t segment) const {
    double sum = 0;
    forEachChange(v, state, [&](size_t begin, size_t end, double change) {
      sum -= begin <= segment && segment < end ? change : 0;
    });
    return sum;
  }

  /// Whether no segment that a move touches rises above `bound(segment)`.
  template <typename Bound>
  bool staysBelow(uint32_t v, uint32_t state, Bound bound) const {
    std::vector<std::pair<size_t, double>> steps;
    forEachChange(v, state, [&](size_t begin, size_t end, double change) {
      steps.push_back({begin, change});
      steps.push_back({end, -change});
    });
    std::ranges::sort(steps);
    double change = 0;
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      change += steps[i].second;
      if (change <= 0) {
        continue;
      }
      for (size_t t = steps[i].first; t != steps[i + 1].first; ++t) {
        if (usage_[t] + change > bound(t)) {
          return false;
        }
      }
    }
    return true;
  }

  void move(uint32_t v, uint32_t state) {
    forEachChange(v, state, [&](size_t begin, size_t end, double change) {
      for (size_t t = begin; t != end; ++t) {
        usage_[t] += change;
      }
    });
    assignment_[v] = state;
  }

private:
  template <typename Callback>
  void forEachChange(uint32_t v, uint32_t state, Callback callback) const {
    const Variable &variable = model_.variables()[v];
    uint32_t now = assignment_[v];
    if (variable.begin < variable.end) {
      callback(variable.begin, variable.end,
               double((*variable.usages)[state] - (*variable.usages)[now]));
    }
    for (const Incidence &end : variable.links) {
      const Link &link = model_.links()[end.link];
      if (!link.usages || link.begin >= link.end) {
        continue;
      }
      uint32_t other = assignment_[end.other];
      auto used = [&](uint32_t own) {
        return end.first ? model_.linkUsage(link, own, other)
                         : model_.linkUsage(link, other, own);
      };
      callback(link.begin, link.end, double(used(state) - used(now)));
    }
  }

  const Model &model_;
  Assignment &assignment_;
  Usage usage_;
};
} // namespace

bool repair(const Model &model, int64_t &work, Assignment &assignment) {
  double limit = *model.limit();
  State state(model, assignment);
  uint32_t count = uint32_t(model.variables().size());
  while (true) {
    size_t worst =
        size_t(std::ranges::max_element(state.usage()) - state.usage().begin());
    if (state.usage().empty() || state.usage()[worst] <= limit) {
      return true;
    }
    double missing = state.usage()[worst] - limit;
    uint32_t bestVariable = count, bestState = 0;
    double bestScore = 0;
    for (uint32_t v = 0; v != count; ++v) {
      for (uint32_t s = 0; s != model.numStates(v); ++s) {
        double relief = state.relief(v, s, worst);
        if (relief <= 0 || !state.staysBelow(v, s, [&](size_t t) {
              return std::max(state.usage()[t], limit);
            })) {
          continue;
        }
        double score = state.costChange(v, s) / std::min(relief, missing);
        if (bestVariable == count || score < bestScore) {
          bestVariable = v;
          bestState = s;
          bestScore = score;
        }
      }
    }
    work -= model.size();
    if (bestVariable == count || work <= 0) {
      return false;
    }
    state.move(bestVariable, bestState);
  }
}

void descend(const Model &model, int64_t &work, Assignment &assignment) {
  State state(model, assignment);
  bool moved = true;
  while (moved && work > 0) {
    moved = false;
    work -= model.size();
    for (uint32_t v = 0; v != model.variables().size(); ++v) {
      uint32_t best = assignment[v];
      double bestChange = 0;
      for (uint32_t s = 0; s != model.numStates(v); ++s) {
        double change = state.costChange(v, s);
        if (change < bestChange &&
            (!model.limit() ||
             state.staysBelow(v, s, [&](size_t) { return *model.limit(); }))) {
          best = s;
          bestChange = change;
        }
      }
      if (best != assignment[v]) {
        state.move(v, best);
        moved = true;
      }
    }
  }
}

} // namespace divisi::search
