//===- Dominance.cpp - States that another one replaces -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dominance.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>

namespace divisi::search {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Entries and usages to look at, at most: about a second. What is left then
/// stays.
static constexpr int64_t kMostWork = 500'000'000;

namespace {

class DeadEndElimination {
public:
  DeadEndElimination(const CostGraph &graph, Domains &domains)
      : graph_(graph), domains_(domains) {}
  std::vector<Dominated> run();

private:
  bool visit(uint32_t v);
  bool usesNoMore(uint32_t v, uint32_t by, uint32_t state);
  void findPartners(uint32_t v, uint32_t state);
  bool mayReplace(uint32_t v, uint32_t by, uint32_t state);
  bool replaces(uint32_t v, uint32_t by, uint32_t state);
  size_t entryOf(uint32_t p, bool first, uint32_t state, uint32_t other) const {
    return first ? size_t(state) * graph_.pairs[p].table->columns + other
                 : size_t(other) * graph_.pairs[p].table->columns + state;
  }
  double shift(uint32_t p, bool first, uint32_t by, uint32_t state) const;
  std::vector<Dominated> findLosses(uint32_t v);
  std::vector<uint64_t> sightOf(uint32_t v);

  const CostGraph &graph_;
  Domains &domains_;
  /// For each pair of the variable, what goes best with the state.
  std::vector<uint32_t> partners_;
  std::vector<double> shifts_; ///< Of the last `replaces`.
  std::vector<Dominated> removed_;
  int64_t work_ = 0;
  /// Numbers for equal lists.
  std::map<std::vector<double>, uint64_t> numbersOf_;
  std::map<std::vector<uint32_t>, uint64_t> domainsOf_;
  /// What variables lost that saw the same. Layers of a network do.
  std::map<std::vector<uint64_t>, std::vector<Dominated>> lossesOf_;
};

} // namespace

bool DeadEndElimination::usesNoMore(uint32_t v, uint32_t by, uint32_t state) {
  return std::ranges::all_of(graph_.variables[v].usages, [&](const Usage &use) {
    ++work_;
    return use.usages[by] <= use.usages[state];
  });
}

/// How much more `state` costs in the pair than `by`, at least; -infinity if
/// `by` excludes, or uses more memory with, what goes with `state`.
double DeadEndElimination::shift(uint32_t p, bool first, uint32_t by,
                                 uint32_t state) const {
  const Pair &pair = graph_.pairs[p];
  const Table &table = *pair.table;
  double least = kInfinity;
  for (uint32_t t : domains_[first ? pair.second : pair.first]) {
    size_t mine = entryOf(p, first, state, t);
    size_t other = entryOf(p, first, by, t);
    if (table.exact[mine] >= kForbidden) {
      continue;
    }
    bool fits = table.exact[other] < kForbidden &&
                std::ranges::all_of(
                    pair.usages,
                    [&](const Usage &use) {
                      return use.usages[other] <= use.usages[mine];
                    });
    least = fits ? std::min(least, table.exact[mine] - table.exact[other])
                 : -kInfinity;
    if (!fits) {
      break;
    }
  }
  return least;
}

void DeadEndElimination::findPartners(uint32_t v, uint32_t state) {
  partners_.clear();
  for (uint32_t p : graph_.pairsOf[v]) {
    const Pair &pair = graph_.pairs[p];
    bool first = pair.first == v;
    auto others = domains_[first ? pair.second : pair.first];
    partners_.push_back(*std::ranges::min_element(others, {}, [&](uint32_t t) {
      return pair.table->exact[entryOf(p, first, state, t)];
    }));
  }
}

/// Looks at one entry of each pair: enough to say no to most.
bool DeadEndElimination::mayReplace(uint32_t v, uint32_t by, uint32_t state) {
  work_ += int64_t(partners_.size());
  const std::vector<double> &costs = graph_.variables[v].costs;
  double margin = costs[state] - costs[by];
  for (size_t i = 0; i != partners_.size(); ++i) {
    uint32_t p = graph_.pairsOf[v][i];
    bool first = graph_.pairs[p].first == v;
    const std::vector<double> &exact = graph_.pairs[p].table->exact;
    margin += exact[entryOf(p, first, state, partners_[i])] -
              exact[entryOf(p, first, by, partners_[i])];
  }
  return margin >= 0;
}

/// Sums the least margin of every pair: the inequality of the header.
bool DeadEndElimination::replaces(uint32_t v, uint32_t by, uint32_t state) {
  const std::vector<double> &costs = graph_.variables[v].costs;
  double margin = costs[state] - costs[by];
  shifts_.clear();
  for (uint32_t p : graph_.pairsOf[v]) {
    const Pair &pair = graph_.pairs[p];
    work_ +=
        int64_t(domains_[pair.first == v ? pair.second : pair.first].size());
    double least = shift(p, pair.first == v, by, state);
    if (std::isinf(least)) {
      return false;
    }
    shifts_.push_back(least);
    margin += least;
  }
  return margin >= 0;
}

/// All that decides which states `v` may lose.
std::vector<uint64_t> DeadEndElimination::sightOf(uint32_t v) {
  auto numberOf = [](auto &known, auto list) {
    return known.try_emplace(std::move(list), known.size()).first->second;
  };
  auto domain = [&](uint32_t variable) {
    auto states = domains_[variable];
    return numberOf(domainsOf_,
                    std::vector<uint32_t>(states.begin(), states.end()));
  };
  auto identity = [](const void *object) {
    return uint64_t(reinterpret_cast<uintptr_t>(object));
  };
  std::vector<uint64_t> sight = {
      numberOf(numbersOf_, graph_.variables[v].costs), domain(v)};
  for (const Usage &use : graph_.variables[v].usages) {
    sight.push_back(numberOf(
        numbersOf_, std::vector<double>(use.usages.begin(), use.usages.end())));
  }
  for (uint32_t p : graph_.pairsOf[v]) {
    const Pair &pair = graph_.pairs[p];
    bool first = pair.first == v;
    sight.push_back(identity(pair.table.get()));
    sight.push_back(2 * domain(first ? pair.second : pair.first) + first);
    sight.push_back(pair.usages.size());
    for (const Usage &use : pair.usages) {
      sight.push_back(identity(use.usages.identity()));
    }
  }
  return sight;
}

std::vector<Dominated> DeadEndElimination::findLosses(uint32_t v) {
  std::vector<Dominated> losses;
  std::vector<uint32_t> left(domains_[v].begin(), domains_[v].end());
  for (size_t i = left.size(); i-- != 0 && work_ < kMostWork;) {
    uint32_t state = left[i];
    findPartners(v, state);
    auto by = std::ranges::find_if(left, [&](uint32_t other) {
      return other != state && usesNoMore(v, other, state) &&
             mayReplace(v, other, state) && replaces(v, other, state);
    });
    if (by != left.end()) {
      losses.push_back({v, state, *by, shifts_});
      left.erase(left.begin() + long(i));
    }
  }
  return losses;
}

/// True if `v` lost a state.
bool DeadEndElimination::visit(uint32_t v) {
  auto [known, isNew] = lossesOf_.try_emplace(sightOf(v));
  if (isNew) {
    known->second = findLosses(v);
  }
  std::vector<uint32_t> left(domains_[v].begin(), domains_[v].end());
  for (Dominated lost : known->second) {
    lost.variable = v;
    std::erase(left, lost.state);
    removed_.push_back(std::move(lost));
  }
  if (known->second.empty()) {
    return false;
  }
  domains_.set(v, std::move(left));
  return true;
}

/// A variable that has lost a state may let its neighbours lose some, so they
/// are visited again.
std::vector<Dominated> DeadEndElimination::run() {
  std::deque<uint32_t> queue;
  std::vector<bool> queued(graph_.variables.size(), true);
  for (uint32_t v = 0; v != queued.size(); ++v) {
    queue.push_back(v);
  }
  while (!queue.empty() && work_ < kMostWork) {
    uint32_t v = queue.front();
    queue.pop_front();
    queued[v] = false;
    if (domains_[v].size() < 2 || !visit(v)) {
      continue;
    }
    for (uint32_t p : graph_.pairsOf[v]) {
      const Pair &pair = graph_.pairs[p];
      uint32_t other = pair.first == v ? pair.second : pair.first;
      if (!queued[other]) {
        queued[other] = true;
        queue.push_back(other);
      }
    }
  }
  return std::move(removed_);
}

std::vector<Dominated> removeDominated(const CostGraph &graph,
                                       Domains &domains) {
  return DeadEndElimination(graph, domains).run();
}

} // namespace divisi::search
