//===- ProblemReader.cpp - Planning problems out of JSON ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemLists.h"
#include "divisi/Support/InputText.h"

#include "divisi/Search/ProblemIO.h"

#include <algorithm>
#include <memory>

namespace divisi::search {

namespace {
/// Makes nodes and edges of lists. Functions return false once something does
/// not fit, as those of JsonText do.
class Joiner {
public:
  Joiner(JsonText &text, ProblemLists &lists, Problem &problem)
      : text_(text), lists_(lists), problem_(problem) {}

  void joinResources();
  bool joinNodes();
  bool joinEdges();

private:
  bool joinLives(const Column<std::vector<IntegerPair>> &column, size_t index,
                 Lifetime live, std::vector<Lifetime> &more, const char *path);
  bool haveResources(size_t count, size_t offset, std::string path);
  bool joinMoreUsages(size_t index);
  bool joinEdgeMemory(size_t index);
  bool joinMatrix(uint32_t number, uint32_t offset, size_t edge,
                  const char *path, std::optional<uint32_t> &matrix);
  bool nodeFits(size_t index);
  bool joinEdge(size_t index);
  template <typename T>
  bool haveSize(const Column<T> &column, size_t size, const char *path);
  bool usesMemory(size_t index) const;
  bool fits(uint32_t number, uint32_t offset, size_t edge, const char *path);

  JsonText &text_;
  ProblemLists &lists_;
  Problem &problem_;
};
} // namespace

static std::string itemOf(const char *path, size_t index) {
  return std::string("problem.") + path + "[" + std::to_string(index) + "]";
}

template <typename T>
bool Joiner::haveSize(const Column<T> &column, size_t size, const char *path) {
  return column.items.size() == size ||
         text_.fail(column.offset,
                    "this list has " + std::to_string(column.items.size()) +
                        " entries; expected " + std::to_string(size),
                    std::string("problem.") + path);
}

void Joiner::joinResources() {
  problem_.name = lists_.name;
  problem_.usageLimit = lists_.usageLimit;
  problem_.resource = lists_.resource;
  for (const ResourceLimit &resource : lists_.moreResources) {
    problem_.moreResources.push_back(
        {std::string(resource.name), resource.limit});
  }
}

/// The further intervals of node or edge i, which must come in order.
bool Joiner::joinLives(const Column<std::vector<IntegerPair>> &column, size_t i,
                       Lifetime live, std::vector<Lifetime> &more,
                       const char *path) {
  if (!column.found) {
    return true;
  }
  for (auto [begin, end] : column.items[i]) {
    if (begin < live.end) {
      return text_.fail(column.offsets[i],
                        "an interval begins at " + std::to_string(begin) +
                            ", before the one ahead of it ends at " +
                            std::to_string(live.end),
                        itemOf(path, i));
    }
    live = {begin, end};
    more.push_back(live);
  }
  return true;
}

/// Whether there are resources for `count` lists, of resource 1 and on.
bool Joiner::haveResources(size_t count, size_t offset, std::string path) {
  return count < problem_.numResources() ||
         text_.fail(offset,
                    "this list has " + std::to_string(count) +
                        " entries; expected at most " +
                        std::to_string(problem_.moreResources.size()) +
                        ", one for each of \"more_resources\"",
                    std::move(path));
}

bool Joiner::joinMoreUsages(size_t i) {
  if (!lists_.moreUsages.found) {
    return true;
  }
  Node &node = problem_.nodes[i];
  node.moreUsages = std::move(lists_.moreUsages.items[i]);
  uint32_t offset = lists_.moreUsages.offsets[i];
  std::string path = itemOf("nodes.more_usages", i);
  for (const std::vector<int64_t> &usages : node.moreUsages) {
    if (!usages.empty() && usages.size() != node.costs.size()) {
      return text_.fail(
          offset,
          "node " + std::to_string(i) + " has " +
              std::to_string(usages.size()) + " usages; expected " +
              std::to_string(node.costs.size()) + ", one a strategy, or none",
          path);
    }
  }
  return haveResources(node.moreUsages.size(), offset, path);
}

/// Whether the lists of node i are as long as each other.
bool Joiner::nodeFits(size_t i) {
  size_t costs = lists_.costs[i].size(), usages = lists_.usages[i].size();
  size_t names = lists_.strategies.found ? lists_.strategies[i].size() : 0;
  std::string node = "node " + std::to_string(i) + " has ";
  if (costs == 0) {
    return text_.fail(lists_.costs.offsets[i],
                      node + "no strategy; expected a cost for each",
                      itemOf("nodes.costs", i));
  }
  if (usages != costs) {
    return text_.fail(lists_.usages.offsets[i],
                      node + std::to_string(usages) + " usages; expected " +
                          std::to_string(costs) + ", one a strategy",
                      itemOf("nodes.usages", i));
  }
  return names == 0 || names == costs ||
         text_.fail(lists_.strategies.offsets[i],
                    node + std::to_string(names) +
                        " names of strategies; expected " +
                        std::to_string(costs) + ", or none",
                    itemOf("nodes.strategies", i));
}

/// Lists of nodes must be of one length, and each node's lists too; the
/// interval, cost or usage that is missing is named where its neighbours stand.
bool Joiner::joinNodes() {
  size_t count = lists_.costs.items.size();
  if (!haveSize(lists_.intervals, count, "nodes.intervals") ||
      !haveSize(lists_.usages, count, "nodes.usages") ||
      (lists_.names.found && !haveSize(lists_.names, count, "nodes.names")) ||
      (lists_.strategies.found &&
       !haveSize(lists_.strategies, count, "nodes.strategies")) ||
      (lists_.moreIntervals.found &&
       !haveSize(lists_.moreIntervals, count, "nodes.more_intervals")) ||
      (lists_.moreUsages.found &&
       !haveSize(lists_.moreUsages, count, "nodes.more_usages"))) {
    return false;
  }
  problem_.nodes.resize(count);
  for (size_t i = 0; i != count; ++i) {
    if (!nodeFits(i)) {
      return false;
    }
    Node &node = problem_.nodes[i];
    auto costs = lists_.costs[i], usages = lists_.usages[i];
    node.costs.assign(costs.begin(), costs.end());
    node.usages.assign(usages.begin(), usages.end());
    auto [begin, end] = lists_.intervals.items[i];
    node.live = {begin, end};
    if (lists_.names.found) {
      node.name = lists_.names.items[i];
    }
    if (lists_.strategies.found) {
      auto strategies = lists_.strategies[i];
      node.strategies.assign(strategies.begin(), strategies.end());
    }
    if (!joinLives(lists_.moreIntervals, i, node.live, node.moreLives,
                   "nodes.more_intervals") ||
        !joinMoreUsages(i)) {
      return false;
    }
  }
  return true;
}

/// Whether a list of edge i has an entry for each pair of strategies.
bool Joiner::fits(uint32_t number, uint32_t offset, size_t i,
                  const char *path) {
  const Edge &edge = problem_.edges[i];
  size_t rows = problem_.nodes[edge.from].costs.size();
  size_t columns = problem_.nodes[edge.to].costs.size();
  size_t size = lists_.pool.size(number);
  return size == rows * columns ||
         text_.fail(offset,
                    "edge " + std::to_string(i) + " of nodes " +
                        std::to_string(edge.from) + " and " +
                        std::to_string(edge.to) + " has " +
                        std::to_string(size) + " entries; expected " +
                        std::to_string(rows) + " x " + std::to_string(columns),
                    itemOf(path, i));
}

/// Which nodes an edge joins says which shape its matrix has.
bool Joiner::joinEdge(size_t i) {
  size_t nodes = problem_.nodes.size();
  auto [from, to] = lists_.ends.items[i];
  if (from < 0 || to < 0 || size_t(from) >= nodes || size_t(to) >= nodes) {
    return text_.fail(lists_.ends.offsets[i],
                      "edge " + std::to_string(i) + " joins nodes " +
                          std::to_string(from) + " and " + std::to_string(to) +
                          ", of " + std::to_string(nodes),
                      itemOf("edges.nodes", i));
  }
  Edge &edge = problem_.edges[i];
  edge.from = uint32_t(from);
  edge.to = uint32_t(to);
  uint32_t rows = uint32_t(problem_.nodes[edge.from].costs.size());
  uint32_t columns = uint32_t(problem_.nodes[edge.to].costs.size());
  if (!fits(lists_.edgeCosts.items[i], lists_.edgeCosts.offsets[i], i,
            "edges.costs")) {
    return false;
  }
  edge.costs = lists_.pool.matrix(lists_.edgeCosts.items[i], rows, columns,
                                  problem_.matrices);
  return !usesMemory(i) || joinEdgeMemory(i);
}

/// Whether any list of usages of edge i has entries.
bool Joiner::usesMemory(size_t i) const {
  auto hasEntries = [&](uint32_t number) {
    return lists_.pool.size(number) != 0;
  };
  return (lists_.edgeUsages.found && hasEntries(lists_.edgeUsages.items[i])) ||
         (lists_.edgeMoreUsages.found &&
          std::ranges::any_of(lists_.edgeMoreUsages.items[i], hasEntries));
}

bool Joiner::joinEdgeMemory(size_t i) {
  Edge &edge = problem_.edges[i];
  uint32_t offset = lists_.edgeUsages.offsets[i];
  if (edge.from == edge.to) {
    return text_.fail(offset,
                      "edge " + std::to_string(i) + " joins node " +
                          std::to_string(edge.from) +
                          " with itself; give its usages to the node",
                      itemOf("edges.usages", i));
  }
  auto [begin, end] = lists_.edgeIntervals.items[i];
  edge.live = {begin, end};
  if (!joinLives(lists_.edgeMoreIntervals, i, edge.live, edge.moreLives,
                 "edges.more_intervals") ||
      !joinMatrix(lists_.edgeUsages.items[i], offset, i, "edges.usages",
                  edge.usages)) {
    return false;
  }
  if (!lists_.edgeMoreUsages.found) {
    return true;
  }
  const std::vector<uint32_t> &numbers = lists_.edgeMoreUsages.items[i];
  offset = lists_.edgeMoreUsages.offsets[i];
  for (uint32_t number : numbers) {
    if (!joinMatrix(number, offset, i, "edges.more_usages",
                    edge.moreUsages.emplace_back())) {
      return false;
    }
  }
  return haveResources(numbers.size(), offset, itemOf("edges.more_usages", i));
}

/// A list of usages of edge i, unless it is empty.
bool Joiner::joinMatrix(uint32_t number, uint32_t offset, size_t i,
                        const char *path, std::optional<uint32_t> &matrix) {
  if (lists_.pool.size(number) == 0) {
    return true;
  }
  const Edge &edge = problem_.edges[i];
  if (!fits(number, offset, i, path)) {
    return false;
  }
  matrix = lists_.pool.matrix(
      number, uint32_t(problem_.nodes[edge.from].costs.size()),
      uint32_t(problem_.nodes[edge.to].costs.size()), problem_.matrices);
  return true;
}

/// Memory of edges is given by two lists or by none.
bool Joiner::joinEdges() {
  size_t count = lists_.ends.items.size();
  if (!haveSize(lists_.edgeCosts, count, "edges.costs")) {
    return false;
  }
  if (lists_.edgeUsages.found != lists_.edgeIntervals.found) {
    return text_.fail(lists_.edgeUsages.found ? lists_.edgeUsages.offset
                                              : lists_.edgeIntervals.offset,
                      "edges have \"usages\" or \"intervals\" alone; expected "
                      "both or neither",
                      "problem.edges");
  }
  if (lists_.edgeUsages.found &&
      (!haveSize(lists_.edgeUsages, count, "edges.usages") ||
       !haveSize(lists_.edgeIntervals, count, "edges.intervals"))) {
    return false;
  }
  if (!lists_.edgeUsages.found &&
      (lists_.edgeMoreUsages.found || lists_.edgeMoreIntervals.found)) {
    return text_.fail(lists_.edgeMoreUsages.found
                          ? lists_.edgeMoreUsages.offset
                          : lists_.edgeMoreIntervals.offset,
                      "edges have \"more_usages\" or \"more_intervals\" "
                      "without \"usages\" and \"intervals\"",
                      "problem.edges");
  }
  if ((lists_.edgeMoreUsages.found &&
       !haveSize(lists_.edgeMoreUsages, count, "edges.more_usages")) ||
      (lists_.edgeMoreIntervals.found &&
       !haveSize(lists_.edgeMoreIntervals, count, "edges.more_intervals"))) {
    return false;
  }
  lists_.pool.unify();
  problem_.edges.resize(count);
  for (size_t i = 0; i != count; ++i) {
    if (!joinEdge(i)) {
      return false;
    }
  }
  return true;
}

static Expected<Problem> readText(const InputText &input) {
  JsonText text(input.text());
  ProblemLists lists;
  Problem problem;
  Joiner joiner(text, lists, problem);
  if (!readProblemLists(text, lists)) {
    return text.status();
  }
  joiner.joinResources();
  if (!joiner.joinNodes() || !joiner.joinEdges()) {
    return text.status();
  }
  return problem;
}

Expected<Problem> readProblem(std::string_view bytes) {
  Expected<InputText> text = InputText::read(bytes);
  return text ? readText(*text) : text.status();
}

Expected<Problem> readProblemFile(const std::string &path) {
  Expected<InputText> text = InputText::readFile(path);
  if (!text && text.status().code() == ExitCode::File) {
    return text.status();
  }
  Expected<Problem> problem = text ? readText(*text) : text.status();
  if (!problem) {
    return problem.status().in(path == "-" ? "stdin" : path);
  }
  return problem;
}

} // namespace divisi::search
