//===- ProblemReader.cpp - Planning problems out of JSON ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the lists are read as they stand in the file, in whatever order; what
// is wrong with a number or an interval by itself is found then. Then they are
// joined to nodes and edges, which finds what does not fit together. Each list
// remembers where it stands in the text, for the message.
//
//===----------------------------------------------------------------------===//

#include "InputText.h"
#include "JsonText.h"
#include "MatrixPool.h"

#include "divisi/Search/ProblemIO.h"

#include <memory>

namespace divisi::search {

namespace {
/// A list of T, one for each node or edge, and where they stand in the text.
template <typename T> struct Column {
  std::vector<T> items;
  std::vector<uint32_t> places;
  uint32_t place = 0; ///< Of the whole.
  bool found = false;
};

/// Lists of integers one behind the other: allocating each costs more than
/// reading it.
struct IntegerLists : Column<size_t> { ///< Where each ends.
  std::vector<int64_t> values;
  std::span<const int64_t> operator[](size_t i) const {
    size_t begin = i == 0 ? 0 : items[i - 1];
    return {values.data() + begin, items[i] - begin};
  }
};

struct Pair {
  int64_t first, second;
};

class ProblemReader {
public:
  explicit ProblemReader(std::string_view text) : text_(text) {}
  Expected<Problem> read();

private:
  using Value = JsonText::Value;

  bool readProblem(Value value);
  bool readNodes(Value value);
  bool readEdges(Value value);

  template <typename T, typename Read>
  bool column(Value value, Column<T> &column, Read read);
  bool pairs(Value value, Column<Pair> &pairs);
  bool intervals(Value value, Column<Pair> &intervals);
  bool usage(Value value, int64_t &usage);
  bool lists(Value value, IntegerLists &lists, bool usages);
  bool matrices(Value value, Column<uint32_t> &numbers, bool usages);
  bool strings(Value value, std::vector<std::string> &strings);

  bool join();
  bool joinNodes();
  bool joinEdges();
  bool joinEdge(size_t index);
  template <typename T>
  bool haveSize(const Column<T> &column, size_t size, const char *path);
  bool fits(const Column<uint32_t> &numbers, size_t edge, const char *path);

  JsonText text_;
  Problem problem_;
  Column<Pair> intervals_, edgeIntervals_, ends_;
  IntegerLists costs_, usages_;
  Column<std::string> names_;
  Column<std::vector<std::string>> strategies_;
  MatrixPool pool_;
  Column<uint32_t> edgeCosts_, edgeUsages_; ///< Numbers of lists in the pool.
  std::vector<int64_t> entries_;
};
} // namespace

static std::string itemOf(const char *path, size_t index) {
  return std::string("problem.") + path + "[" + std::to_string(index) + "]";
}

template <typename T, typename Read>
bool ProblemReader::column(Value value, Column<T> &column, Read read) {
  column.found = true;
  column.place = text_.place(value);
  return text_.list(value, [&](Value item) {
    column.places.push_back(text_.place(item));
    return read(item);
  });
}

bool ProblemReader::pairs(Value value, Column<Pair> &pairs) {
  return column(value, pairs, [&](Value item) {
    int64_t numbers[2];
    size_t count = 0;
    auto number = [&](Value each) {
      return count < 2 ? text_.integer(each, numbers[count++])
                       : text_.fail(text_.place(each),
                                    "expected two numbers, got a third");
    };
    uint32_t place = text_.place(item);
    if (!text_.list(item, number)) {
      return false;
    }
    pairs.items.push_back({numbers[0], numbers[1]});
    return count == 2 || text_.fail(place, "expected two numbers, got " +
                                               std::to_string(count));
  });
}

bool ProblemReader::intervals(Value value, Column<Pair> &intervals) {
  if (!pairs(value, intervals)) {
    return false;
  }
  for (size_t i = 0; i != intervals.items.size(); ++i) {
    auto [begin, end] = intervals.items[i];
    std::string path = "[" + std::to_string(i) + "]";
    if (begin < 0) {
      return text_.fail(intervals.places[i],
                        "this interval begins at " + std::to_string(begin) +
                            "; expected no time below zero",
                        path);
    }
    if (end < begin) {
      return text_.fail(intervals.places[i],
                        "this interval ends at " + std::to_string(end) +
                            ", before it begins at " + std::to_string(begin),
                        path);
    }
  }
  return true;
}

bool ProblemReader::usage(Value value, int64_t &usage) {
  uint32_t place = text_.place(value);
  if (!text_.integer(value, usage)) {
    return false;
  }
  return usage >= 0 || text_.fail(place, "a usage of " + std::to_string(usage) +
                                             "; expected none below zero");
}

bool ProblemReader::lists(Value value, IntegerLists &lists, bool usages) {
  return column(value, lists, [&](Value item) {
    uint32_t place = lists.places.back();
    size_t before = lists.values.size();
    bool good = text_.list(item, [&](Value each) {
      int64_t &number = lists.values.emplace_back();
      return usages ? usage(each, number) : text_.integer(each, number);
    });
    lists.items.push_back(lists.values.size());
    if (!good) {
      return false;
    }
    return lists.values.size() != before ||
           text_.fail(place, "this node has no strategy; expected a number for "
                             "each");
  });
}

bool ProblemReader::matrices(Value value, Column<uint32_t> &numbers,
                             bool usages) {
  return column(value, numbers, [&](Value item) {
    entries_.clear();
    bool good = text_.list(item, [&](Value each) {
      int64_t &number = entries_.emplace_back();
      return usages ? usage(each, number) : text_.integer(each, number);
    });
    if (!good) {
      return false;
    }
    numbers.items.push_back(pool_.add(entries_));
    return true;
  });
}

bool ProblemReader::strings(Value value, std::vector<std::string> &strings) {
  return text_.list(value, [&](Value item) {
    return text_.string(item, strings.emplace_back());
  });
}

bool ProblemReader::readNodes(Value value) {
  JsonText::Member members[] = {
      {"intervals", true, [&](Value v) { return intervals(v, intervals_); }},
      {"costs", true, [&](Value v) { return lists(v, costs_, false); }},
      {"usages", true, [&](Value v) { return lists(v, usages_, true); }},
      {"names", false,
       [&](Value v) {
         return column(v, names_, [&](Value item) {
           return text_.string(item, names_.items.emplace_back());
         });
       }},
      {"strategies", false,
       [&](Value v) {
         return column(v, strategies_, [&](Value item) {
           return strings(item, strategies_.items.emplace_back());
         });
       }},
  };
  return text_.object(value, members);
}

bool ProblemReader::readEdges(Value value) {
  JsonText::Member members[] = {
      {"nodes", true, [&](Value v) { return pairs(v, ends_); }},
      {"costs", true, [&](Value v) { return matrices(v, edgeCosts_, false); }},
      {"usages", false,
       [&](Value v) { return matrices(v, edgeUsages_, true); }},
      {"intervals", false,
       [&](Value v) { return intervals(v, edgeIntervals_); }},
  };
  return text_.object(value, members);
}

bool ProblemReader::readProblem(Value value) {
  JsonText::Member members[] = {
      {"name", false, [&](Value v) { return text_.string(v, problem_.name); }},
      {"nodes", true, [&](Value v) { return readNodes(v); }},
      {"edges", true, [&](Value v) { return readEdges(v); }},
      {"usage_limit", false,
       [&](Value v) {
         return text_.integer(v, problem_.usageLimit.emplace());
       }},
  };
  return text_.object(value, members);
}

template <typename T>
bool ProblemReader::haveSize(const Column<T> &column, size_t size,
                             const char *path) {
  return column.items.size() == size ||
         text_.fail(column.place,
                    "this list has " + std::to_string(column.items.size()) +
                        " entries; expected " + std::to_string(size),
                    std::string("problem.") + path);
}

bool ProblemReader::joinNodes() {
  size_t count = costs_.items.size();
  if (!haveSize(intervals_, count, "nodes.intervals") ||
      !haveSize(usages_, count, "nodes.usages") ||
      (names_.found && !haveSize(names_, count, "nodes.names")) ||
      (strategies_.found &&
       !haveSize(strategies_, count, "nodes.strategies"))) {
    return false;
  }
  problem_.nodes.resize(count);
  for (size_t i = 0; i != count; ++i) {
    Node &node = problem_.nodes[i];
    auto costs = costs_[i], usages = usages_[i];
    if (usages.size() != costs.size()) {
      return text_.fail(usages_.places[i],
                        "node " + std::to_string(i) + " has " +
                            std::to_string(usages.size()) +
                            " usages; expected " +
                            std::to_string(costs.size()) + ", one a strategy",
                        itemOf("nodes.usages", i));
    }
    node.costs.assign(costs.begin(), costs.end());
    node.usages.assign(usages.begin(), usages.end());
    node.live = {intervals_.items[i].first, intervals_.items[i].second};
    if (names_.found) {
      node.name = std::move(names_.items[i]);
    }
    if (!strategies_.found) {
      continue;
    }
    node.strategies = std::move(strategies_.items[i]);
    size_t names = node.strategies.size();
    if (names != 0 && names != costs.size()) {
      return text_.fail(strategies_.places[i],
                        "node " + std::to_string(i) + " has " +
                            std::to_string(names) +
                            " names of strategies; expected " +
                            std::to_string(costs.size()) + ", or none",
                        itemOf("nodes.strategies", i));
    }
  }
  return true;
}

/// Whether list i of `numbers` has an entry for each pair of strategies.
bool ProblemReader::fits(const Column<uint32_t> &numbers, size_t i,
                         const char *path) {
  const Edge &edge = problem_.edges[i];
  size_t rows = problem_.nodes[edge.from].costs.size();
  size_t columns = problem_.nodes[edge.to].costs.size();
  size_t size = pool_.size(numbers.items[i]);
  return size == rows * columns ||
         text_.fail(numbers.places[i],
                    "edge " + std::to_string(i) + " of nodes " +
                        std::to_string(edge.from) + " and " +
                        std::to_string(edge.to) + " has " +
                        std::to_string(size) + " entries; expected " +
                        std::to_string(rows) + " x " + std::to_string(columns),
                    itemOf(path, i));
}

bool ProblemReader::joinEdge(size_t i) {
  size_t nodes = problem_.nodes.size();
  auto [from, to] = ends_.items[i];
  if (from < 0 || to < 0 || size_t(from) >= nodes || size_t(to) >= nodes) {
    return text_.fail(ends_.places[i],
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
  if (!fits(edgeCosts_, i, "edges.costs")) {
    return false;
  }
  edge.costs =
      pool_.matrix(edgeCosts_.items[i], rows, columns, problem_.matrices);
  if (!edgeUsages_.found || pool_.size(edgeUsages_.items[i]) == 0) {
    return true;
  }
  if (edge.from == edge.to) {
    return text_.fail(edgeUsages_.places[i],
                      "edge " + std::to_string(i) + " joins node " +
                          std::to_string(from) +
                          " with itself; give its usages to the node",
                      itemOf("edges.usages", i));
  }
  if (!fits(edgeUsages_, i, "edges.usages")) {
    return false;
  }
  edge.usages =
      pool_.matrix(edgeUsages_.items[i], rows, columns, problem_.matrices);
  edge.live = {edgeIntervals_.items[i].first, edgeIntervals_.items[i].second};
  return true;
}

bool ProblemReader::joinEdges() {
  size_t count = ends_.items.size();
  if (!haveSize(edgeCosts_, count, "edges.costs")) {
    return false;
  }
  if (edgeUsages_.found != edgeIntervals_.found) {
    return text_.fail(edgeUsages_.found ? edgeUsages_.place
                                        : edgeIntervals_.place,
                      "edges have \"usages\" or \"intervals\" alone; expected "
                      "both or neither",
                      "problem.edges");
  }
  if (edgeUsages_.found &&
      (!haveSize(edgeUsages_, count, "edges.usages") ||
       !haveSize(edgeIntervals_, count, "edges.intervals"))) {
    return false;
  }
  problem_.edges.resize(count);
  for (size_t i = 0; i != count; ++i) {
    if (!joinEdge(i)) {
      return false;
    }
  }
  return true;
}

Expected<Problem> ProblemReader::read() {
  JsonText::Member members[] = {
      {"problem", true, [&](Value value) { return readProblem(value); }}};
  if (!text_.readRoot(members) || !joinNodes() || !joinEdges()) {
    return text_.status();
  }
  return std::move(problem_);
}

static Expected<Problem> readText(const InputText &text) {
  // The reader is large, and done with when this returns.
  return std::make_unique<ProblemReader>(text.text())->read();
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
    return divisi::Status(problem.status().code(),
                          path + ": " + problem.status().message());
  }
  return problem;
}

} // namespace divisi::search
