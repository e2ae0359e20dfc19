//===- SubGraph.cpp - A part of a graph, the rest held fixed --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SubGraph.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <ranges>
#include <unordered_map>

namespace divisi::search {

Domains::Domains(const CostGraph &graph) {
  for (const Variable &variable : graph.variables) {
    std::vector<uint32_t> &states = states_.emplace_back();
    states.resize(variable.costs.size());
    std::iota(states.begin(), states.end(), 0);
  }
}

Domains::Domains(const Assignment &assignment) {
  for (uint32_t state : assignment) {
    states_.push_back({state});
  }
}

/// Drops states of `from` that no state of `to` goes with; true if any.
static bool filter(const Pair &pair, Domains &domains, bool first) {
  uint32_t from = first ? pair.first : pair.second;
  uint32_t to = first ? pair.second : pair.first;
  const Table &table = *pair.table;
  std::vector<uint32_t> kept;
  for (uint32_t s : domains[from]) {
    bool partner = std::ranges::any_of(domains[to], [&](uint32_t t) {
      return (first ? table.at(s, t) : table.at(t, s)) < kForbidden;
    });
    if (partner) {
      kept.push_back(s);
    }
  }
  if (kept.size() == domains[from].size()) {
    return false;
  }
  domains.set(from, std::move(kept));
  return true;
}

/// Arc consistency (AC-3). False if a domain became empty.
static bool makeConsistent(const CostGraph &graph, Domains &domains) {
  std::vector<uint32_t> queue;
  for (uint32_t v = 0; v != domains.size(); ++v) {
    if (domains[v].size() == 1) {
      continue;
    }
    const std::vector<double> &costs = graph.variables[v].costs;
    std::vector<uint32_t> kept;
    for (uint32_t s : domains[v]) {
      if (costs[s] < kForbidden) {
        kept.push_back(s);
      }
    }
    if (kept.size() != domains[v].size()) {
      domains.set(v, std::move(kept));
    }
  }
  std::vector<bool> queued(graph.pairs.size(), false);
  for (uint32_t p = 0; p != graph.pairs.size(); ++p) {
    const Pair &pair = graph.pairs[p];
    if (pair.table->hard &&
        (domains[pair.first].size() > 1 || domains[pair.second].size() > 1)) {
      queued[p] = true;
      queue.push_back(p);
    }
  }
  while (!queue.empty()) {
    uint32_t p = queue.back();
    queue.pop_back();
    queued[p] = false;
    const Pair &pair = graph.pairs[p];
    for (bool first : {true, false}) {
      if (!filter(pair, domains, first)) {
        continue;
      }
      uint32_t changed = first ? pair.first : pair.second;
      if (domains[changed].empty()) {
        return false;
      }
      for (uint32_t other : graph.pairsOf[changed]) {
        if (!queued[other] && graph.pairs[other].table->hard) {
          queued[other] = true;
          queue.push_back(other);
        }
      }
    }
  }
  return std::ranges::none_of(
      std::views::iota(uint32_t(0), uint32_t(domains.size())),
      [&](uint32_t v) { return domains[v].empty(); });
}

namespace {

class Restriction {
public:
  Restriction(const CostGraph &parent, const Domains &domains)
      : parent_(parent), domains_(domains) {}
  SubGraph run();

private:
  bool isFixed(uint32_t v) const { return number_[v] < 0; }
  void addVariable(uint32_t v);
  void addPair(uint32_t p);
  void addRow(const Pair &pair, bool first);
  /// What is left of `usage` by a choice among `bytes`.
  void use(std::vector<Usage> &usages, const Usage &usage,
           const Amounts &bytes);
  std::shared_ptr<const Table> cut(const Pair &pair);
  const Amounts &cut(const Pair &pair, const Usage &usage);

  const CostGraph &parent_;
  const Domains &domains_;
  SubGraph result_;
  std::vector<int32_t> number_;
  std::vector<double> taken_; ///< Off the capacity, as differences.
  std::vector<Usage> none_;
  /// What has been cut: equal parts of a table are one.
  struct Cut {
    std::span<const uint32_t> rows, columns;
    std::shared_ptr<const Table> table;
  };
  std::unordered_map<const Table *, std::vector<Cut>> cuts_;
  /// The same of memory.
  struct UsageCut {
    std::span<const uint32_t> rows, columns;
    Amounts amounts;
  };
  std::unordered_map<const void *, std::deque<UsageCut>> usageCuts_;
};

} // namespace

void Restriction::use(std::vector<Usage> &usages, const Usage &usage,
                      const Amounts &bytes) {
  addUsage(usages, usage.begin, usage.end, bytes, taken_);
}

/// What a fixed variable costs goes into the constant, and what it uses comes
/// off the capacity.
void Restriction::addVariable(uint32_t v) {
  const Variable &from = parent_.variables[v];
  if (isFixed(v)) {
    uint32_t state = domains_[v][0];
    result_.fixed[v] = state;
    result_.graph.constant += from.costs[state];
    for (const Usage &usage : from.usages) {
      use(none_, usage, Amounts::of({usage.usages[state]}));
    }
    return;
  }
  result_.variableOf.push_back(v);
  result_.states.emplace_back(domains_[v].begin(), domains_[v].end());
  Variable &variable = result_.graph.variables.emplace_back();
  for (uint32_t s : domains_[v]) {
    variable.costs.push_back(from.costs[s]);
  }
  for (const Usage &usage : from.usages) {
    std::vector<double> bytes;
    for (uint32_t s : domains_[v]) {
      bytes.push_back(usage.usages[s]);
    }
    use(variable.usages, usage, Amounts::of(std::move(bytes)));
  }
}

/// A pair of which only one end (the first, or the second) is not fixed.
void Restriction::addRow(const Pair &pair, bool first) {
  uint32_t v = first ? pair.first : pair.second;
  uint32_t state = domains_[first ? pair.second : pair.first][0];
  Variable &variable = result_.graph.variables[number_[v]];
  auto entry = [&](uint32_t s) {
    return first ? size_t(s) * pair.table->columns + state
                 : size_t(state) * pair.table->columns + s;
  };
  for (size_t i = 0; i != variable.costs.size(); ++i) {
    variable.costs[i] += pair.table->exact[entry(domains_[v][i])];
  }
  for (const Usage &usage : pair.usages) {
    std::vector<double> bytes;
    for (uint32_t s : domains_[v]) {
      bytes.push_back(usage.usages[entry(s)]);
    }
    use(variable.usages, usage, Amounts::of(std::move(bytes)));
  }
}

/// The part of a pair's table that is left, the whole one if nothing is lost.
/// Equal parts are one, as equal tables are.
std::shared_ptr<const Table> Restriction::cut(const Pair &pair) {
  std::span<const uint32_t> rows = domains_[pair.first];
  std::span<const uint32_t> columns = domains_[pair.second];
  if (rows.size() == pair.table->rows &&
      columns.size() == pair.table->columns) {
    return pair.table;
  }
  std::vector<Cut> &cuts = cuts_[pair.table.get()];
  for (const Cut &cut : cuts) {
    if (std::ranges::equal(cut.rows, rows) &&
        std::ranges::equal(cut.columns, columns)) {
      return cut.table;
    }
  }
  auto table = std::make_shared<Table>();
  table->rows = uint32_t(rows.size());
  table->columns = uint32_t(columns.size());
  table->exact.reserve(rows.size() * columns.size());
  for (uint32_t s : rows) {
    for (uint32_t t : columns) {
      table->exact.push_back(pair.table->at(s, t));
    }
  }
  table->round();
  cuts.push_back({rows, columns, table});
  return table;
}

/// The part of what a pair uses that is left.
const Amounts &Restriction::cut(const Pair &pair, const Usage &usage) {
  std::span<const uint32_t> rows = domains_[pair.first];
  std::span<const uint32_t> columns = domains_[pair.second];
  std::deque<UsageCut> &cuts = usageCuts_[usage.usages.identity()];
  for (const UsageCut &cut : cuts) {
    if (std::ranges::equal(cut.rows, rows) &&
        std::ranges::equal(cut.columns, columns)) {
      return cut.amounts;
    }
  }
  std::vector<double> bytes;
  bytes.reserve(rows.size() * columns.size());
  for (uint32_t s : rows) {
    for (uint32_t t : columns) {
      bytes.push_back(usage.usages[size_t(s) * pair.table->columns + t]);
    }
  }
  cuts.push_back({rows, columns, Amounts::of(std::move(bytes))});
  return cuts.back().amounts;
}

/// A pair of two free variables stays one; of one it is a row of costs, of none
/// a constant.
void Restriction::addPair(uint32_t p) {
  const Pair &pair = parent_.pairs[p];
  bool first = isFixed(pair.first), second = isFixed(pair.second);
  if (first != second) {
    addRow(pair, second);
    return;
  }
  if (first) {
    size_t entry = size_t(domains_[pair.first][0]) * pair.table->columns +
                   domains_[pair.second][0];
    result_.graph.constant += pair.table->exact[entry];
    for (const Usage &usage : pair.usages) {
      use(none_, usage, Amounts::of({usage.usages[entry]}));
    }
    return;
  }
  result_.pairOf.push_back(p);
  Pair &sub = result_.graph.pairs.emplace_back();
  sub.first = uint32_t(number_[pair.first]);
  sub.second = uint32_t(number_[pair.second]);
  sub.table = cut(pair);
  sub.weight = pair.weight;
  for (const Usage &usage : pair.usages) {
    use(sub.usages, usage, cut(pair, usage));
  }
}

/// Numbers the free variables in order, so that pairs stay sorted. Where even
/// the least usages exceed the capacity, the part is infeasible; the worst such
/// time is told.
SubGraph Restriction::run() {
  number_.assign(parent_.variables.size(), -1);
  int32_t count = 0;
  for (uint32_t v = 0; v != number_.size(); ++v) {
    if (domains_[v].size() > 1) {
      number_[v] = count++;
    }
  }
  result_.fixed.assign(number_.size(), 0);
  taken_.assign(parent_.capacity.size() + 1, 0);
  result_.graph.constant = parent_.constant;
  for (uint32_t v = 0; v != number_.size(); ++v) {
    addVariable(v);
  }
  for (uint32_t p = 0; p != parent_.pairs.size(); ++p) {
    addPair(p);
  }
  double taken = 0;
  for (size_t t = 0; t != parent_.capacity.size(); ++t) {
    taken += taken_[t];
    result_.graph.capacity.push_back(parent_.capacity[t] - taken);
    if (-result_.graph.capacity[t] > result_.shortage) {
      result_.infeasible = true;
      result_.shortAt = uint32_t(t);
      result_.shortage = -result_.graph.capacity[t];
    }
  }
  result_.timeOf = keepBindingTimes(result_.graph);
  result_.graph.index();
  return std::move(result_);
}

SubGraph restrict(const CostGraph &graph, Domains domains) {
  if (!makeConsistent(graph, domains)) {
    SubGraph result;
    result.infeasible = true;
    return result;
  }
  return Restriction(graph, domains).run();
}

Assignment Embedding::expand(const Assignment &assignment) const {
  Assignment whole = fixed;
  for (size_t v = 0; v != assignment.size(); ++v) {
    whole[variableOf[v]] = states[v][assignment[v]];
  }
  return whole;
}

/// Goes through both maps: of variables, their states, pairs and times.
Embedding compose(const Embedding &outer, const Embedding &inner) {
  auto through = [](const std::vector<uint32_t> &map,
                    std::vector<uint32_t> list) {
    for (uint32_t &entry : list) {
      entry = map[entry];
    }
    return list;
  };
  Embedding whole;
  whole.variableOf = through(outer.variableOf, inner.variableOf);
  whole.pairOf = through(outer.pairOf, inner.pairOf);
  whole.timeOf = through(outer.timeOf, inner.timeOf);
  whole.fixed = outer.expand(inner.fixed);
  for (size_t v = 0; v != inner.states.size(); ++v) {
    whole.states.push_back(
        through(outer.states[inner.variableOf[v]], inner.states[v]));
  }
  return whole;
}

} // namespace divisi::search
