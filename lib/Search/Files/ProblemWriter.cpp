//===- ProblemWriter.cpp - Planning problems as JSON ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/JsonOutput.h"

#include "divisi/Search/ProblemIO.h"

#include <algorithm>

namespace divisi::search {

/// Appends `"key": ` and the list.
template <typename Element>
static void writeColumn(std::string &out, const char *key, size_t count,
                        Element element) {
  writeJsonString(out, key);
  out += ": ";
  writeJsonList(out, count, element);
}

static void writeIntegers(std::string &out, const std::vector<int64_t> &list) {
  writeJsonList(out, list.size(),
                [&](size_t i) { out += std::to_string(list[i]); });
}

static void writePair(std::string &out, int64_t first, int64_t second) {
  writeIntegers(out, {first, second});
}

/// Names and strategies are left out where no node has any, as in the contest's
/// files.
static void writeNodes(std::string &out, const std::vector<Node> &nodes) {
  size_t count = nodes.size();
  auto next = [&] { out += ",\n      "; };
  out += "    \"nodes\": {\n      ";
  writeColumn(out, "intervals", count, [&](size_t i) {
    writePair(out, nodes[i].live.begin, nodes[i].live.end);
  });
  next();
  writeColumn(out, "costs", count,
              [&](size_t i) { writeIntegers(out, nodes[i].costs); });
  next();
  writeColumn(out, "usages", count,
              [&](size_t i) { writeIntegers(out, nodes[i].usages); });
  if (std::ranges::any_of(nodes, [](auto &n) { return !n.name.empty(); })) {
    next();
    writeColumn(out, "names", count,
                [&](size_t i) { writeJsonString(out, nodes[i].name); });
  }
  if (std::ranges::any_of(nodes,
                          [](auto &n) { return !n.strategies.empty(); })) {
    next();
    writeColumn(out, "strategies", count, [&](size_t i) {
      const std::vector<std::string> &names = nodes[i].strategies;
      writeJsonList(out, names.size(),
                    [&](size_t s) { writeJsonString(out, names[s]); });
    });
  }
  out += "\n    },\n";
}

/// Usages and intervals are left out where no edge uses memory.
static void writeEdges(std::string &out, const Problem &problem) {
  const std::vector<Edge> &edges = problem.edges;
  out += "    \"edges\": {\n      ";
  writeColumn(out, "nodes", edges.size(),
              [&](size_t i) { writePair(out, edges[i].from, edges[i].to); });
  out += ",\n      ";
  writeColumn(out, "costs", edges.size(), [&](size_t i) {
    writeIntegers(out, problem.matrices[edges[i].costs].entries);
  });
  if (std::ranges::any_of(edges,
                          [](auto &e) { return e.usages.has_value(); })) {
    out += ",\n      ";
    writeColumn(out, "usages", edges.size(), [&](size_t i) {
      writeIntegers(out, edges[i].usages
                             ? problem.matrices[*edges[i].usages].entries
                             : std::vector<int64_t>());
    });
    out += ",\n      ";
    writeColumn(out, "intervals", edges.size(), [&](size_t i) {
      writePair(out, edges[i].live.begin, edges[i].live.end);
    });
  }
  out += "\n    }";
}

std::string writeProblem(const Problem &problem) {
  std::string out = "{\n  \"problem\": {\n    \"name\": ";
  writeJsonString(out, problem.name);
  out += ",\n";
  writeNodes(out, problem.nodes);
  writeEdges(out, problem);
  if (problem.usageLimit) {
    out += ",\n    \"usage_limit\": " + std::to_string(*problem.usageLimit);
  }
  out += "\n  }\n}\n";
  return out;
}

} // namespace divisi::search
