//===- Elimination.cpp - Bucket elimination -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elimination.h"

#include <algorithm>
#include <set>

namespace divisi::search {

using Pairs = std::span<const std::pair<uint32_t, uint32_t>>;
using Neighbors = std::vector<std::set<uint32_t>>;

static Neighbors neighborsOf(size_t numVariables, Pairs pairs) {
  Neighbors neighbors(numVariables);
  for (auto [u, v] : pairs) {
    if (u != v) {
      neighbors[u].insert(v);
      neighbors[v].insert(u);
    }
  }
  return neighbors;
}

/// How many pairs of neighbours nothing joins yet. Where there are very many
/// neighbours, counting costs more than it is worth.
static size_t fill(const Neighbors &neighbors, uint32_t v) {
  constexpr size_t kCounted = 48;
  const std::set<uint32_t> &around = neighbors[v];
  if (around.size() > kCounted) {
    return around.size() * around.size();
  }
  size_t missing = 0;
  for (auto u = around.begin(); u != around.end(); ++u) {
    for (auto w = std::next(u); w != around.end(); ++w) {
      missing += !neighbors[*u].contains(*w);
    }
  }
  return missing;
}

/// Joins the neighbours of `v` with each other and takes `v` out.
static std::set<uint32_t> takeOut(Neighbors &neighbors, uint32_t v) {
  std::set<uint32_t> around = std::move(neighbors[v]);
  neighbors[v].clear();
  for (uint32_t u : around) {
    neighbors[u].erase(v);
    for (uint32_t w : around) {
      if (u != w) {
        neighbors[u].insert(w);
      }
    }
  }
  return around;
}

/// The queue is ordered by the pairs that an elimination would join; who has
/// lost or gained a neighbour is put into it anew.
std::vector<uint32_t> minFillOrder(size_t numVariables, Pairs pairs,
                                   Budget &budget) {
  Neighbors neighbors = neighborsOf(numVariables, pairs);
  std::vector<size_t> missing(numVariables);
  std::set<std::pair<size_t, uint32_t>> queue;
  for (uint32_t v = 0; v != numVariables; ++v) {
    missing[v] = fill(neighbors, v);
    queue.insert({missing[v], v});
  }
  std::vector<uint32_t> order;
  while (!queue.empty()) {
    uint32_t v = queue.begin()->second;
    queue.erase(queue.begin());
    order.push_back(v);
    std::set<uint32_t> around = takeOut(neighbors, v);
    std::set<uint32_t> changed = around;
    for (uint32_t u : around) {
      changed.insert(neighbors[u].begin(), neighbors[u].end());
    }
    int64_t size = int64_t(around.size());
    if (!budget.spend(1 + size * size + int64_t(changed.size()))) {
      return order;
    }
    for (uint32_t u : changed) {
      queue.erase({missing[u], u});
      missing[u] = fill(neighbors, u);
      queue.insert({missing[u], u});
    }
  }
  return order;
}

TableSizes tableSizes(std::span<const uint32_t> sizes,
                      std::span<const uint32_t> order, Pairs pairs) {
  Neighbors neighbors = neighborsOf(sizes.size(), pairs);
  TableSizes tables;
  for (uint32_t v : order) {
    double entries = 1;
    for (uint32_t u : takeOut(neighbors, v)) {
      entries *= sizes[u];
    }
    tables.largest = std::max(tables.largest, entries);
    tables.total += entries;
  }
  return tables;
}

/// Bucket by bucket in order; a bucket that would make a table beyond
/// `maxTable` is split into groups that are eliminated apart.
Elimination::Elimination(std::span<const uint32_t> sizes,
                         std::span<const uint32_t> order,
                         std::vector<Factor> factors, double maxTable,
                         Budget &budget)
    : sizes_(sizes.begin(), sizes.end()), position_(sizes.size()),
      buckets_(sizes.size()), sent_(sizes.size()), maxTable_(maxTable) {
  for (uint32_t i = 0; i != order.size(); ++i) {
    position_[order[i]] = i;
  }
  for (Factor &factor : factors) {
    add(std::move(factor));
  }
  for (uint32_t v : order) {
    for (const Group &group : split(buckets_[v])) {
      if (!eliminate(v, group, budget)) {
        return;
      }
    }
  }
  finished_ = true;
}

/// Takes the scope in the order that Table wants.
void Elimination::add(Factor factor) {
  std::vector<uint32_t> given = factor.scope;
  Table table;
  table.scope = given;
  std::ranges::sort(table.scope, std::ranges::greater(),
                    [&](uint32_t v) { return position_[v]; });
  table.strides.resize(given.size());
  for (size_t i = given.size(), stride = 1; i-- != 0;) {
    table.strides[i] = stride;
    stride *= sizes_[table.scope[i]];
  }
  if (table.scope == given) {
    table.values = std::move(factor.values);
  } else {
    table.values.resize(factor.values.size());
    std::vector<uint32_t> states(sizes_.size(), 0);
    for (const Wide &value : factor.values) {
      table.values[offset(table, states)] = value;
      for (size_t i = given.size(); i-- != 0;) {
        if (++states[given[i]] != sizes_[given[i]]) {
          break;
        }
        states[given[i]] = 0;
      }
    }
  }
  buckets_[table.scope.back()].push_back(uint32_t(tables_.size()));
  tables_.push_back(std::move(table));
}

size_t Elimination::offset(const Table &table,
                           std::span<const uint32_t> states) const {
  size_t offset = 0;
  for (size_t i = 0; i != table.scope.size(); ++i) {
    offset += table.strides[i] * states[table.scope[i]];
  }
  return offset;
}

double Elimination::entries(const std::vector<uint32_t> &scope) const {
  double entries = 1;
  for (uint32_t v : scope) {
    entries *= sizes_[v];
  }
  return entries;
}

/// The variables of the group in Table's order, so the one that goes is last.
std::vector<uint32_t> Elimination::joined(const Group &group) const {
  std::vector<uint32_t> scope;
  for (uint32_t table : group) {
    scope.insert(scope.end(), tables_[table].scope.begin(),
                 tables_[table].scope.end());
  }
  std::ranges::sort(scope, std::ranges::greater(),
                    [&](uint32_t v) { return position_[v]; });
  scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
  return scope;
}

/// Large tables first, each into the first group that it leaves small enough.
std::vector<Elimination::Group>
Elimination::split(const std::vector<uint32_t> &bucket) const {
  std::vector<uint32_t> tables = bucket;
  std::ranges::stable_sort(tables, std::ranges::greater(), [&](uint32_t table) {
    return tables_[table].values.size();
  });
  std::vector<Group> groups;
  for (uint32_t table : tables) {
    bool placed = false;
    for (Group &group : groups) {
      group.push_back(table);
      std::vector<uint32_t> scope = joined(group);
      scope.pop_back();
      if (entries(scope) <= maxTable_) {
        placed = true;
        break;
      }
      group.pop_back();
    }
    if (!placed) {
      groups.push_back({table});
    }
  }
  return groups;
}

/// Minimises the sum of a group over `variable`; false if the budget ends.
bool Elimination::eliminate(uint32_t variable, const Group &group,
                            Budget &budget) {
  Factor result;
  result.scope = joined(group);
  result.scope.pop_back();
  size_t rank = result.scope.size();
  // How far a step of each variable of the result moves in each table.
  std::vector<std::vector<size_t>> steps(rank,
                                         std::vector<size_t>(group.size(), 0));
  for (size_t g = 0; g != group.size(); ++g) {
    const Table &table = tables_[group[g]];
    for (size_t i = 0; i + 1 < table.scope.size(); ++i) {
      size_t at = size_t(std::ranges::find(result.scope, table.scope[i]) -
                         result.scope.begin());
      steps[at][g] = table.strides[i];
    }
  }
  size_t count = size_t(entries(result.scope)), states = sizes_[variable];
  result.values.reserve(count);
  std::vector<size_t> offsets(group.size(), 0);
  std::vector<uint32_t> digits(rank, 0);
  int64_t workEach = int64_t(states * group.size());
  for (size_t entry = 0; entry != count; ++entry) {
    Wide least = kForbiddenWide;
    for (size_t s = 0; s != states; ++s) {
      Wide sum = 0;
      for (size_t g = 0; g != group.size(); ++g) {
        sum += tables_[group[g]].values[offsets[g] + s];
      }
      least = std::min(least, sum);
    }
    result.values.push_back(least >= kForbiddenWideSum ? kForbiddenWide
                                                       : least);
    if (!budget.spend(workEach)) {
      return false;
    }
    for (size_t i = rank; i-- != 0;) {
      bool wraps = ++digits[i] == sizes_[result.scope[i]];
      size_t back = wraps ? sizes_[result.scope[i]] - 1 : 0;
      for (size_t g = 0; g != group.size(); ++g) {
        offsets[g] += wraps ? -(back * steps[i][g]) : steps[i][g];
      }
      if (!wraps) {
        break;
      }
      digits[i] = 0;
    }
  }
  if (rank == 0) {
    bound_ += result.values.front();
    sent_[variable].push_back(uint32_t(tables_.size()));
    tables_.push_back({{}, {}, std::move(result.values)});
  } else {
    sent_[variable].push_back(uint32_t(tables_.size()));
    add(std::move(result));
  }
  return true;
}

/// What the tables in the variable's bucket say, less what they had sent on
/// when it was eliminated.
void Elimination::rows(uint32_t variable, std::span<const uint32_t> prefix,
                       std::vector<Wide> &added, Budget &budget) const {
  Wide sent = 0;
  for (uint32_t table : sent_[variable]) {
    sent += tables_[table].values[offset(tables_[table], prefix)];
  }
  added.assign(sizes_[variable], -sent);
  int64_t work = int64_t(sent_[variable].size());
  for (uint32_t index : buckets_[variable]) {
    const Table &table = tables_[index];
    size_t begin = 0;
    for (size_t i = 0; i + 1 < table.scope.size(); ++i) {
      begin += table.strides[i] * prefix[table.scope[i]];
    }
    for (size_t s = 0; s != added.size(); ++s) {
      added[s] += table.values[begin + s];
    }
    work += int64_t(added.size() + table.scope.size());
  }
  budget.spend(work);
}

} // namespace divisi::search
