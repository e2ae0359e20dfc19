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

#include <memory>

namespace divisi::search {

namespace {
/// Makes nodes and edges of lists. Functions return false once something does
/// not fit, as those of JsonText do.
class Joiner {
public:
  Joiner(JsonText &text, ProblemLists &lists, Problem &problem)
      : text_(text), lists_(lists), problem_(problem) {}

  bool joinNodes();
  bool joinEdges();

private:
  bool nodeFits(size_t index);
  bool joinEdge(size_t index);
  template <typename T>
  bool haveSize(const Column<T> &column, size_t size, const char *path);
  bool fits(const Column<uint32_t> &numbers, size_t edge, const char *path);

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
       !haveSize(lists_.strategies, count, "nodes.strategies"))) {
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
  }
  return true;
}

/// Whether list i of `numbers` has an entry for each pair of strategies.
bool Joiner::fits(const Column<uint32_t> &numbers, size_t i, const char *path) {
  const Edge &edge = problem_.edges[i];
  size_t rows = problem_.nodes[edge.from].costs.size();
  size_t columns = problem_.nodes[edge.to].costs.size();
  size_t size = lists_.pool.size(numbers.items[i]);
  return size == rows * columns ||
         text_.fail(numbers.offsets[i],
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
  if (!fits(lists_.edgeCosts, i, "edges.costs")) {
    return false;
  }
  edge.costs = lists_.pool.matrix(lists_.edgeCosts.items[i], rows, columns,
                                  problem_.matrices);
  if (!lists_.edgeUsages.found ||
      lists_.pool.size(lists_.edgeUsages.items[i]) == 0) {
    return true;
  }
  if (edge.from == edge.to) {
    return text_.fail(lists_.edgeUsages.offsets[i],
                      "edge " + std::to_string(i) + " joins node " +
                          std::to_string(from) +
                          " with itself; give its usages to the node",
                      itemOf("edges.usages", i));
  }
  if (!fits(lists_.edgeUsages, i, "edges.usages")) {
    return false;
  }
  edge.usages = lists_.pool.matrix(lists_.edgeUsages.items[i], rows, columns,
                                   problem_.matrices);
  edge.live = {lists_.edgeIntervals.items[i].first,
               lists_.edgeIntervals.items[i].second};
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
  if (!readProblemLists(text, lists) || !joiner.joinNodes() ||
      !joiner.joinEdges()) {
    return text.status();
  }
  problem.name = lists.name;
  problem.usageLimit = lists.usageLimit;
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
