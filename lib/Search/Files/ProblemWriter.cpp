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

/// Of nodes or of edges: left out where none lives again.
template <typename NodeOrEdge>
static void writeMoreLives(std::string &out,
                           const std::vector<NodeOrEdge> &users) {
  if (std::ranges::all_of(users,
                          [](auto &user) { return user.moreLives.empty(); })) {
    return;
  }
  out += ",\n      ";
  writeColumn(out, "more_intervals", users.size(), [&](size_t i) {
    const std::vector<Lifetime> &lives = users[i].moreLives;
    writeJsonList(out, lives.size(), [&](size_t k) {
      writePair(out, lives[k].begin, lives[k].end);
    });
  });
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
  writeMoreLives(out, nodes);
  if (std::ranges::any_of(nodes,
                          [](auto &n) { return !n.moreUsages.empty(); })) {
    next();
    writeColumn(out, "more_usages", count, [&](size_t i) {
      const std::vector<std::vector<int64_t>> &usages = nodes[i].moreUsages;
      writeJsonList(out, usages.size(),
                    [&](size_t r) { writeIntegers(out, usages[r]); });
    });
  }
  out += "\n    },\n";
}

static bool usesMemory(const Edge &edge) {
  bool uses = false;
  forEachUsage(edge, [&](uint32_t, uint32_t) { uses = true; });
  return uses;
}

/// Of one resource: empty if the edge uses none of it.
static void writeEntries(std::string &out, const Problem &problem,
                         std::optional<uint32_t> matrix) {
  writeIntegers(out, matrix ? problem.matrices[*matrix].entries
                            : std::vector<int64_t>());
}

/// Of edges: left out where none uses a further resource.
static void writeMoreUsages(std::string &out, const Problem &problem) {
  const std::vector<Edge> &edges = problem.edges;
  if (std::ranges::all_of(edges,
                          [](auto &edge) { return edge.moreUsages.empty(); })) {
    return;
  }
  out += ",\n      ";
  writeColumn(out, "more_usages", edges.size(), [&](size_t i) {
    writeJsonList(out, edges[i].moreUsages.size(), [&](size_t r) {
      writeEntries(out, problem, edges[i].moreUsages[r]);
    });
  });
}

static void writeResources(std::string &out, const Problem &problem) {
  if (!problem.resource.empty()) {
    out += ",\n    \"resource\": ";
    writeJsonString(out, problem.resource);
  }
  if (problem.moreResources.empty()) {
    return;
  }
  out += ",\n    ";
  writeColumn(
      out, "more_resources", problem.moreResources.size(), [&](size_t i) {
        const Resource &resource = problem.moreResources[i];
        out += "{\"name\": ";
        writeJsonString(out, resource.name);
        if (resource.limit) {
          out += ", \"usage_limit\": " + std::to_string(*resource.limit);
        }
        out += '}';
      });
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
  if (std::ranges::any_of(edges, usesMemory)) {
    out += ",\n      ";
    writeColumn(out, "usages", edges.size(),
                [&](size_t i) { writeEntries(out, problem, edges[i].usages); });
    out += ",\n      ";
    writeColumn(out, "intervals", edges.size(), [&](size_t i) {
      writePair(out, edges[i].live.begin, edges[i].live.end);
    });
    writeMoreLives(out, edges);
    writeMoreUsages(out, problem);
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
  writeResources(out, problem);
  out += "\n  }\n}\n";
  return out;
}

} // namespace divisi::search
