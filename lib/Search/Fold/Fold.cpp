//===- Fold.cpp - Variables that are alike decide as one ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fold.h"

#include <algorithm>
#include <map>

namespace divisi::search {

namespace {
/// What the states of a variable stand for: strategies of the first node among
/// its members for which no two states take the same. There is one, the node
/// that the variable is called by.
struct Meaning {
  uint32_t leader = 0; ///< The node to which that one is tied.
  std::vector<uint32_t> strategies;
  friend auto operator<=>(const Meaning &, const Meaning &) = default;
};
} // namespace

static bool allDiffer(std::vector<uint32_t> list) {
  std::ranges::sort(list);
  return std::ranges::adjacent_find(list) == list.end();
}

std::vector<uint32_t> classesOf(const Ties &ties, const Reduction &reduction,
                                const ReducedGraph &reduced) {
  const Embedding &core = reduced.core;
  std::vector<int32_t> inCore(reduced.whole.variables.size(), -1);
  for (uint32_t v = 0; v != core.variableOf.size(); ++v) {
    inCore[core.variableOf[v]] = int32_t(v);
  }
  std::vector<std::optional<Meaning>> meanings(core.variableOf.size());
  for (uint32_t i = 0; i != ties.leader.size(); ++i) {
    int32_t variable = reduced.variableOf[reduction.variableOf[i]];
    int32_t v = variable < 0 ? -1 : inCore[variable];
    if (v < 0 || meanings[v]) {
      continue;
    }
    Meaning meaning{ties.leader[i], {}};
    for (uint32_t state : core.states[v]) {
      meaning.strategies.push_back(reduction.strategies[i][state]);
    }
    if (allDiffer(meaning.strategies)) {
      meanings[v] = std::move(meaning);
    }
  }
  std::map<Meaning, uint32_t> known;
  std::vector<uint32_t> classes;
  uint32_t count = 0;
  for (std::optional<Meaning> &meaning : meanings) {
    uint32_t number = count;
    if (meaning) {
      number = known.try_emplace(std::move(*meaning), count).first->second;
    }
    classes.push_back(number);
    count += number == count;
  }
  return classes;
}

static double clipped(double cost) { return cost >= kForbidden ? kTop : cost; }

/// What a pair gives where both ends take the same state.
template <typename Numbers>
static std::vector<double> diagonal(const Numbers &entries, uint32_t states) {
  std::vector<double> result;
  for (uint32_t s = 0; s != states; ++s) {
    result.push_back(entries[size_t(s) * states + s]);
  }
  return result;
}

template <typename Numbers>
static std::vector<double> transposed(const Numbers &entries, uint32_t rows,
                                      uint32_t columns) {
  std::vector<double> result;
  for (uint32_t t = 0; t != columns; ++t) {
    for (uint32_t s = 0; s != rows; ++s) {
      result.push_back(entries[size_t(s) * columns + t]);
    }
  }
  return result;
}

int64_t foldedEntries(const CostGraph &whole,
                      const std::vector<uint32_t> &classOf) {
  std::map<std::pair<uint32_t, uint32_t>, int64_t> entries;
  for (const Pair &pair : whole.pairs) {
    uint32_t first = classOf[pair.first], second = classOf[pair.second];
    if (first != second) {
      entries[std::minmax(first, second)] =
          int64_t(pair.table->rows) * pair.table->columns;
    }
  }
  int64_t sum = 0;
  for (const auto &[ends, count] : entries) {
    sum += count;
  }
  return sum;
}

Fold::Fold(const CostGraph &whole, std::vector<uint32_t> classOf)
    : whole_(whole), classOf_(std::move(classOf)) {
  graph_.constant = whole.constant;
  graph_.capacity = whole.capacity;
  addVariables();
  placePairs();
  addPairs();
  for (Variable &variable : graph_.variables) {
    std::ranges::transform(variable.costs, variable.costs.begin(), clipped);
  }
  graph_.index();
}

void Fold::addVariables() {
  for (uint32_t v = 0; v != classOf_.size(); ++v) {
    const Variable &from = whole_.variables[v];
    if (classOf_[v] == graph_.variables.size()) {
      graph_.variables.push_back(from);
      continue;
    }
    Variable &to = graph_.variables[classOf_[v]];
    for (size_t s = 0; s != to.costs.size(); ++s) {
      to.costs[s] += from.costs[s];
    }
    to.usages.insert(to.usages.end(), from.usages.begin(), from.usages.end());
  }
}

/// Folded pairs are sorted, as those of every graph are.
void Fold::placePairs() {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numberOf;
  places_.resize(whole_.pairs.size());
  for (uint32_t p = 0; p != places_.size(); ++p) {
    uint32_t first = classOf_[whole_.pairs[p].first];
    uint32_t second = classOf_[whole_.pairs[p].second];
    places_[p] = {0, first > second, first == second};
    if (first != second) {
      numberOf[std::minmax(first, second)] = 0;
    }
  }
  for (auto &[ends, number] : numberOf) {
    number = uint32_t(graph_.pairs.size());
    graph_.pairs.push_back({ends.first, ends.second, nullptr, {}, 0});
  }
  for (uint32_t p = 0; p != places_.size(); ++p) {
    if (!places_[p].inside) {
      places_[p].pair = numberOf[std::minmax(
          {classOf_[whole_.pairs[p].first], classOf_[whole_.pairs[p].second]})];
      ++graph_.pairs[places_[p].pair].weight;
    }
  }
}

void Fold::addInside(const Pair &pair) {
  Variable &variable = graph_.variables[classOf_[pair.first]];
  auto states = uint32_t(variable.costs.size());
  std::vector<double> costs = diagonal(pair.table->exact, states);
  for (uint32_t s = 0; s != states; ++s) {
    variable.costs[s] += costs[s];
  }
  for (const Usage &usage : pair.usages) {
    variable.usages.push_back({usage.begin, usage.end,
                               SharedNumbers(diagonal(usage.usages, states))});
  }
}

/// Sums of tables, transposed where the folded pair has the ends the other way.
void Fold::addPairs() {
  std::vector<std::shared_ptr<Table>> sums(graph_.pairs.size());
  for (uint32_t p = 0; p != places_.size(); ++p) {
    const Pair &from = whole_.pairs[p];
    const auto [number, swapped, inside] = places_[p];
    if (inside) {
      addInside(from);
      continue;
    }
    Pair &to = graph_.pairs[number];
    const Table &table = *from.table;
    if (!sums[number]) {
      sums[number] = std::make_shared<Table>();
      sums[number]->rows = swapped ? table.columns : table.rows;
      sums[number]->columns = swapped ? table.rows : table.columns;
      sums[number]->exact.assign(table.exact.size(), 0);
    }
    std::vector<double> turned;
    if (swapped) {
      turned = transposed(table.exact, table.rows, table.columns);
    }
    const std::vector<double> &entries = swapped ? turned : table.exact;
    for (size_t e = 0; e != entries.size(); ++e) {
      sums[number]->exact[e] += entries[e];
    }
    for (const Usage &usage : from.usages) {
      to.usages.push_back(
          {usage.begin, usage.end,
           swapped ? SharedNumbers(
                         transposed(usage.usages, table.rows, table.columns))
                   : usage.usages});
    }
  }
  for (uint32_t p = 0; p != sums.size(); ++p) {
    std::ranges::transform(sums[p]->exact, sums[p]->exact.begin(), clipped);
    sums[p]->round();
    graph_.pairs[p].table = std::move(sums[p]);
  }
}

Assignment Fold::unfold(const Assignment &assignment) const {
  Assignment whole;
  for (uint32_t number : classOf_) {
    whole.push_back(assignment[number]);
  }
  return whole;
}

/// Each pair takes an equal part. A pair inside a class gives each end half of
/// what it costs where both take the same state.
Potentials Fold::unfold(const Potentials &potentials) const {
  Potentials whole;
  auto part = [](std::vector<double> values, double count) {
    for (double &value : values) {
      value /= count;
    }
    return values;
  };
  for (uint32_t p = 0; p != places_.size(); ++p) {
    const auto [number, swapped, inside] = places_[p];
    if (inside) {
      const Table &table = *whole_.pairs[p].table;
      std::vector<double> half = diagonal(table.exact, table.rows);
      for (double &cost : half) {
        cost = cost >= kForbidden ? 0 : cost / 2;
      }
      whole.first.push_back(half);
      whole.second.push_back(std::move(half));
      continue;
    }
    const auto &first = potentials.first[number];
    const auto &second = potentials.second[number];
    whole.first.push_back(
        part(swapped ? second : first, graph_.pairs[number].weight));
    whole.second.push_back(
        part(swapped ? first : second, graph_.pairs[number].weight));
  }
  return whole;
}

} // namespace divisi::search
