//===- BuildReducedGraph.cpp - From a reduction to its graph --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members of a variable add up; so do parallel edges. What concerns fixed
// variables moves to the other end. Of all times those remain at which usage
// can have a peak (something has begun, and something ends before anything else
// begins) and the peak can exceed the limit.
//
//===----------------------------------------------------------------------===//

#include "ReducedGraph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <ranges>
#include <span>
#include <unordered_map>

namespace divisi::search {

namespace {

/// An edge between two variables, the smaller first.
struct Link {
  uint32_t first, second; ///< Variables of the graph.
  uint32_t edge;
  bool swapped; ///< The edge runs from second to first.
};

/// All that a table, or what a pair uses, is made of.
using Key = std::vector<uint32_t>;

class Builder {
public:
  Builder(const Problem &problem, const Reduction &reduction)
      : problem_(problem), reduction_(reduction) {}
  ReducedGraph run();

private:
  int32_t variableOf(uint32_t node) const {
    return result_.variableOf[reduction_.variableOf[node]];
  }
  const std::vector<uint32_t> &strategies(uint32_t node) const {
    return reduction_.strategies[node];
  }
  void numberVariables();
  void addNode(uint32_t node);
  void addEdge(uint32_t edge);
  void addUnary(int32_t variable, const Matrix &costs, uint32_t from,
                uint32_t to);
  template <typename Use>
  void forEachEntry(const Link &link, uint32_t matrix, Use use) const;
  void addPair(std::span<const Link> links);
  std::shared_ptr<const Table> makeTable(std::span<const Link> links);
  std::shared_ptr<const Table> share(Table table);
  void addNodeUsages(uint32_t node);
  void addInnerUsage(const Edge &edge, uint32_t resource, uint32_t matrix);
  void addPairUsages(const Link &link, Pair &pair);
  void setCapacities();
  void removeDominatedStates();
  template <typename NodeOrEdge>
  void addUsageOf(std::vector<Usage> &usages, const NodeOrEdge &user,
                  uint32_t resource, const Amounts &bytes);
  std::vector<Usage> &usagesOf(int32_t variable) {
    return variable < 0 ? fixedUsages_
                        : result_.whole.variables[variable].usages;
  }
  Key keyOf(const Link &link, uint32_t matrix) const;

  const Problem &problem_;
  const Reduction &reduction_;
  ReducedGraph result_;
  std::vector<Link> links_;
  std::vector<double> takenAnyhow_; ///< At each time, as differences.
  std::vector<Usage> fixedUsages_;  ///< Stays empty: fixed usage is constant.
  std::unordered_multimap<size_t, std::shared_ptr<const Table>> tables_;
  /// What has been made of the same entries before.
  std::map<Key, std::shared_ptr<const Table>> tableOf_;
  std::map<Key, Amounts> amounts_;
};

} // namespace

/// What `matrix` gives at the i-th state of a variable that both ends are of.
static double inside(const Matrix &matrix, const std::vector<uint32_t> &from,
                     const std::vector<uint32_t> &to, size_t i) {
  int64_t cost = matrix.at(from[i], to[i]);
  return cost >= kInfeasible ? kTop : double(cost);
}

/// Variables with one state are fixed and get no number.
void Builder::numberVariables() {
  size_t count = problem_.nodes.size();
  result_.variableOf.assign(count, -1);
  // Called by the smallest member, so that the order is that of the program.
  std::vector<bool> numbered(count, false);
  for (uint32_t i = 0; i != count; ++i) {
    uint32_t root = reduction_.variableOf[i];
    if (numbered[root] || reduction_.states[root].size() < 2) {
      continue;
    }
    numbered[root] = true;
    result_.variableOf[root] = int32_t(result_.nodeOf.size());
    result_.nodeOf.push_back(root);
    result_.whole.variables.emplace_back().costs.assign(
        reduction_.states[root].size(), 0);
  }
}

void Builder::addNode(uint32_t node) {
  int32_t variable = variableOf(node);
  const std::vector<int64_t> &costs = problem_.nodes[node].costs;
  if (variable < 0) {
    result_.whole.constant += double(costs[strategies(node)[0]]);
    return;
  }
  std::vector<double> &sums = result_.whole.variables[variable].costs;
  for (size_t i = 0; i != sums.size(); ++i) {
    sums[i] += double(costs[strategies(node)[i]]);
  }
}

/// An edge that leaves one variable to decide.
void Builder::addUnary(int32_t variable, const Matrix &costs, uint32_t from,
                       uint32_t to) {
  const std::vector<uint32_t> &rows = strategies(from);
  const std::vector<uint32_t> &columns = strategies(to);
  std::vector<double> &sums = result_.whole.variables[variable].costs;
  for (size_t i = 0; i != sums.size(); ++i) {
    sums[i] += double(costs.at(rows[rows.size() == 1 ? 0 : i],
                               columns[columns.size() == 1 ? 0 : i]));
  }
}

/// Two fixed ends make a constant, one free variable a cost of its states; the
/// rest waits in links_ until parallel edges are next to each other.
void Builder::addEdge(uint32_t e) {
  const Edge &edge = problem_.edges[e];
  const Matrix &costs = problem_.matrices[edge.costs];
  int32_t from = variableOf(edge.from), to = variableOf(edge.to);
  if (from < 0 || to < 0 || from == to) {
    forEachUsage(edge, [&](uint32_t r, uint32_t matrix) {
      addInnerUsage(edge, r, matrix);
    });
  }
  if (from < 0 && to < 0) {
    result_.whole.constant +=
        inside(costs, strategies(edge.from), strategies(edge.to), 0);
  } else if (from < 0 || to < 0 || from == to) {
    addUnary(std::max(from, to), costs, edge.from, edge.to);
  } else {
    links_.push_back({uint32_t(std::min(from, to)),
                      uint32_t(std::max(from, to)), e, from > to});
  }
}

/// Layers of a network are alike, so most tables are found again.
std::shared_ptr<const Table> Builder::share(Table table) {
  size_t hash = table.rows * 31 + table.columns;
  for (double cost : table.exact) {
    hash = mixHash(hash, cost);
  }
  auto [begin, end] = tables_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second->rows == table.rows && it->second->exact == table.exact) {
      return it->second;
    }
  }
  table.round();
  auto shared = std::make_shared<const Table>(std::move(table));
  tables_.emplace(hash, shared);
  return shared;
}

/// Calls `use` with what a matrix of the link's edge gives at each two states
/// of its variables, those of the first by rows.
template <typename Use>
void Builder::forEachEntry(const Link &link, uint32_t matrix, Use use) const {
  const Edge &edge = problem_.edges[link.edge];
  const Matrix &entries = problem_.matrices[matrix];
  size_t rowStep = link.swapped ? 1 : entries.columns;
  size_t columnStep = link.swapped ? entries.columns : 1;
  for (uint32_t row : strategies(link.swapped ? edge.to : edge.from)) {
    const int64_t *in = entries.entries.data() + row * rowStep;
    for (uint32_t column : strategies(link.swapped ? edge.from : edge.to)) {
      use(in[column * columnStep]);
    }
  }
}

Key Builder::keyOf(const Link &link, uint32_t matrix) const {
  const Edge &edge = problem_.edges[link.edge];
  Key key = {matrix, link.swapped};
  for (uint32_t node : {edge.from, edge.to}) {
    const std::vector<uint32_t> &taken = strategies(node);
    key.push_back(uint32_t(taken.size()));
    key.insert(key.end(), taken.begin(), taken.end());
  }
  return key;
}

/// The sum of all edges between the same two variables.
std::shared_ptr<const Table> Builder::makeTable(std::span<const Link> links) {
  Table table;
  table.rows = result_.whole.numStates(links[0].first);
  table.columns = result_.whole.numStates(links[0].second);
  table.exact.assign(size_t(table.rows) * table.columns, 0);
  for (const Link &link : links) {
    double *out = table.exact.data();
    forEachEntry(link, problem_.edges[link.edge].costs, [&](int64_t cost) {
      *out++ += cost >= kInfeasible ? kTop : double(cost);
    });
  }
  for (double &cost : table.exact) {
    cost = cost >= kForbidden ? kTop : cost;
  }
  return share(std::move(table));
}

/// All edges between the same two variables.
void Builder::addPair(std::span<const Link> links) {
  CostGraph &graph = result_.whole;
  uint32_t first = links[0].first, second = links[0].second;
  Key key;
  for (const Link &link : links) {
    Key part = keyOf(link, problem_.edges[link.edge].costs);
    key.insert(key.end(), part.begin(), part.end());
  }
  auto [known, isNew] = tableOf_.try_emplace(std::move(key));
  if (isNew) {
    known->second = makeTable(links);
  }
  Pair &pair = graph.pairs.emplace_back();
  pair.first = first;
  pair.second = second;
  pair.table = known->second;
  for (const Link &link : links) {
    addPairUsages(link, pair);
  }
}

/// Clips the lives of `user` to the times that are kept.
template <typename NodeOrEdge>
void Builder::addUsageOf(std::vector<Usage> &usages, const NodeOrEdge &user,
                         uint32_t resource, const Amounts &bytes) {
  forEachLife(user, [&](Lifetime live) {
    TimeRange range = rangeOf(result_.timeOf, resource, live);
    if (!range.empty()) {
      addUsage(usages, uint32_t(range.begin), uint32_t(range.end), bytes,
               takenAnyhow_);
    }
  });
}

void Builder::addNodeUsages(uint32_t node) {
  const Node &from = problem_.nodes[node];
  forEachUsage(from, [&](uint32_t r, const std::vector<int64_t> &usages) {
    std::vector<double> bytes;
    for (uint32_t s : strategies(node)) {
      bytes.push_back(double(usages[s]));
    }
    addUsageOf(usagesOf(variableOf(node)), from, r,
               Amounts::of(std::move(bytes)));
  });
}

/// Of an edge that leaves at most one variable to decide.
void Builder::addInnerUsage(const Edge &edge, uint32_t resource,
                            uint32_t matrix) {
  const Matrix &usages = problem_.matrices[matrix];
  const auto &rows = strategies(edge.from), &columns = strategies(edge.to);
  std::vector<double> bytes(std::max(rows.size(), columns.size()));
  for (size_t i = 0; i != bytes.size(); ++i) {
    bytes[i] = double(usages.at(rows[rows.size() == 1 ? 0 : i],
                                columns[columns.size() == 1 ? 0 : i]));
  }
  addUsageOf(usagesOf(std::max(variableOf(edge.from), variableOf(edge.to))),
             edge, resource, Amounts::of(std::move(bytes)));
}

void Builder::addPairUsages(const Link &link, Pair &pair) {
  const Edge &edge = problem_.edges[link.edge];
  forEachUsage(edge, [&](uint32_t r, uint32_t matrix) {
    auto [known, isNew] = amounts_.try_emplace(keyOf(link, matrix));
    if (isNew) {
      std::vector<double> bytes;
      forEachEntry(link, matrix,
                   [&](int64_t use) { bytes.push_back(double(use)); });
      known->second = Amounts::of(std::move(bytes));
    }
    addUsageOf(pair.usages, edge, r, known->second);
  });
}

/// What is used anyhow comes off the limit; then only binding times stay.
void Builder::setCapacities() {
  double taken = 0;
  for (size_t t = 0; t != result_.timeOf.size(); ++t) {
    auto limit = double(*problem_.limitOf(result_.timeOf[t].resource));
    taken += takenAnyhow_[t];
    result_.whole.capacity.push_back(limit - taken);
    if (taken > limit && !result_.overfull) {
      result_.overfull = result_.timeOf[t];
    }
  }
  std::vector<Moment> times;
  for (uint32_t kept : keepBindingTimes(result_.whole)) {
    times.push_back(result_.timeOf[kept]);
  }
  result_.timeOf = std::move(times);
}

/// The core is the whole without dominated states. Each of those is mapped to
/// the state that is left in its place.
void Builder::removeDominatedStates() {
  const CostGraph &whole = result_.whole;
  Domains domains(whole);
  result_.dominated = removeDominated(whole, domains);
  for (uint32_t v = 0; v != whole.variables.size(); ++v) {
    std::vector<uint32_t> &standIn = result_.standIn.emplace_back();
    standIn.resize(whole.numStates(v));
    std::iota(standIn.begin(), standIn.end(), 0);
  }
  // Who replaces a state may have gone later.
  for (const Dominated &lost : result_.dominated | std::views::reverse) {
    std::vector<uint32_t> &standIn = result_.standIn[lost.variable];
    standIn[lost.state] = standIn[lost.by];
  }
  result_.core = restrict(whole, std::move(domains));
}

/// Links are sorted, so that parallel edges are next to each other and become
/// one pair.
ReducedGraph Builder::run() {
  numberVariables();
  result_.timeOf = maximalTimes(problem_);
  takenAnyhow_.assign(result_.timeOf.size() + 1, 0);
  for (uint32_t i = 0; i != problem_.nodes.size(); ++i) {
    addNode(i);
    addNodeUsages(i);
  }
  for (uint32_t e = 0; e != problem_.edges.size(); ++e) {
    addEdge(e);
  }
  for (Variable &variable : result_.whole.variables) {
    for (double &cost : variable.costs) {
      cost = cost >= kForbidden ? kTop : cost;
    }
  }
  std::ranges::stable_sort(links_, {}, [](const Link &link) {
    return std::pair(link.first, link.second);
  });
  for (size_t i = 0; i != links_.size();) {
    size_t end = i;
    while (end != links_.size() && links_[end].first == links_[i].first &&
           links_[end].second == links_[i].second) {
      ++end;
    }
    addPair(std::span(links_).subspan(i, end - i));
    i = end;
  }
  setCapacities();
  result_.whole.index();
  if (!result_.overfull) {
    removeDominatedStates();
  }
  return std::move(result_);
}

ReducedGraph buildReducedGraph(const Problem &problem,
                               const Reduction &reduction) {
  return Builder(problem, reduction).run();
}

} // namespace divisi::search
