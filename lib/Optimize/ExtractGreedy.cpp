//===- ExtractGreedy.cpp - Extractions changed node by node ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Optimize/ExtractGreedy.h"

#include <algorithm>
#include <tuple>

using namespace divisi;
using namespace divisi::optimize;

/// Passes over all classes that look for something cheaper.
static constexpr int kMostPasses = 20;

//===----------------------------------------------------------------------===//
// Preferences
//===----------------------------------------------------------------------===//

Preferences::Preferences(const ExtractionProblem &problem,
                         const ExtractionForm &form,
                         std::vector<uint32_t> preferred)
    : problem_(problem), form_(form), preferred_(std::move(preferred)),
      readers_(problem.classes.size()) {
  for (uint32_t root : problem.roots) {
    if (readers_[root]++ == 0) {
      pending_.push_back(root);
    }
  }
  settle(true);
}

/// A node of a class is taken, or no longer. Its children are pending if that
/// makes them needed, or no longer.
void Preferences::change(uint32_t c, uint32_t node, bool isTaken) {
  const ExtractionNode &changed = problem_.classes[c][node];
  cost_ += isTaken ? changed.cost : -changed.cost;
  for (uint32_t child : changed.children) {
    if (isTaken ? readers_[child]++ == 0 : --readers_[child] == 0) {
      pending_.push_back(child);
    }
  }
}

/// Goes on below what is pending.
void Preferences::settle(bool isTaken) {
  while (!pending_.empty()) {
    uint32_t next = pending_.back();
    pending_.pop_back();
    change(next, preferred_[next], isTaken);
  }
}

void Preferences::prefer(uint32_t c, uint32_t node) {
  uint32_t old = preferred_[c];
  preferred_[c] = node;
  if (isNeeded(c) && old != node) {
    change(c, node, true);
    settle(true);
    change(c, old, false);
    settle(false);
  }
}

Extraction Preferences::extraction() const {
  Extraction extraction;
  extraction.choice.resize(problem_.classes.size());
  for (uint32_t c : form_.order) {
    if (isNeeded(c)) {
      extraction.choice[c] = preferred_[c];
    }
  }
  extraction.cost = cost_;
  return extraction;
}

//===----------------------------------------------------------------------===//
// The baseline
//===----------------------------------------------------------------------===//

namespace {
/// Sums over what is below nodes, of classes whose node is chosen.
class BelowNodes {
public:
  BelowNodes(const ExtractionProblem &problem,
             const std::vector<uint32_t> &chosen)
      : problem_(problem), chosen_(chosen), seen_(problem.classes.size()) {}

  /// What a node and all below it cost, each once; nothing if `least` or more.
  std::optional<int64_t> cost(const ExtractionNode &node,
                              std::optional<int64_t> least) {
    ++round_;
    pending_.clear();
    int64_t sum = 0;
    for (const ExtractionNode *next = &node;;) {
      sum += next->cost;
      if (least && sum >= *least) {
        return std::nullopt;
      }
      for (uint32_t child : next->children) {
        if (seen_[child] != round_) {
          seen_[child] = round_;
          pending_.push_back(child);
        }
      }
      if (pending_.empty()) {
        return sum;
      }
      uint32_t c = pending_.back();
      pending_.pop_back();
      next = &problem_.classes[c][chosen_[c]];
    }
  }

private:
  const ExtractionProblem &problem_;
  const std::vector<uint32_t> &chosen_;
  std::vector<uint64_t> seen_; ///< The round in which a class was last seen.
  std::vector<uint32_t> pending_;
  uint64_t round_ = 0;
};
} // namespace

std::vector<uint32_t>
divisi::optimize::preferGreedily(const ExtractionProblem &problem,
                                 const ExtractionForm &form) {
  std::vector<uint32_t> chosen(problem.classes.size());
  BelowNodes below(problem, chosen);
  for (uint32_t c : form.order) {
    std::optional<int64_t> least;
    for (uint32_t node : form.nodes[c]) {
      if (auto cost = below.cost(problem.classes[c][node], least)) {
        least = cost;
        chosen[c] = node;
      }
    }
  }
  return chosen;
}

Extraction divisi::optimize::extractGreedily(const ExtractionProblem &problem) {
  Expected<ExtractionForm> form = orderClasses(problem);
  if (!form) {
    Extraction none;
    none.choice.resize(problem.classes.size());
    return none;
  }
  return Preferences(problem, *form, preferGreedily(problem, *form))
      .extraction();
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

std::vector<uint32_t>
divisi::optimize::preferencesOf(const ExtractionForm &form,
                                const Extraction &extraction,
                                std::vector<uint32_t> others) {
  for (uint32_t c : form.order) {
    others[c] = extraction.choice[c].value_or(others[c]);
  }
  return others;
}

void divisi::optimize::descend(const ExtractionProblem &problem,
                               const ExtractionForm &form,
                               Preferences &preferences) {
  bool changed = true;
  for (int pass = 0; changed && pass != kMostPasses; ++pass) {
    changed = false;
    for (uint32_t c : form.order) {
      if (!preferences.isNeeded(c)) {
        continue;
      }
      const std::vector<uint32_t> &nodes = form.nodes[c];
      size_t old =
          size_t(std::ranges::lower_bound(nodes, preferences.preferred(c)) -
                 nodes.begin());
      for (size_t i = 0; i != nodes.size(); ++i) {
        int64_t cost = preferences.cost();
        bool isWelcome = form.isDominated[c][old] && !form.isDominated[c][i];
        preferences.prefer(c, nodes[i]);
        if (preferences.cost() - isWelcome < cost) {
          old = i;
          changed = true;
        } else {
          preferences.prefer(c, nodes[old]);
        }
      }
    }
  }
}

std::vector<Extraction>
divisi::optimize::neighboursOf(const ExtractionProblem &problem,
                               const ExtractionForm &form, Preferences from,
                               size_t most) {
  std::vector<std::tuple<int64_t, uint32_t, uint32_t>> priced;
  for (uint32_t c : form.order) {
    uint32_t old = from.preferred(c);
    for (uint32_t node : form.nodes[c]) {
      if (node != old && from.isNeeded(c)) {
        from.prefer(c, node);
        priced.emplace_back(from.cost(), c, node);
        from.prefer(c, old);
      }
    }
  }
  std::ranges::sort(priced);
  priced.resize(std::min(most, priced.size()));
  std::vector<Extraction> neighbours;
  for (auto [cost, c, node] : priced) {
    uint32_t old = from.preferred(c);
    from.prefer(c, node);
    neighbours.push_back(from.extraction());
    from.prefer(c, old);
  }
  return neighbours;
}
