//===- ProblemIO.cpp - Planning problems as JSON --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances have a hundred megabytes of integers. They are read in one pass,
// without a document tree: objects call back for each key, arrays for each
// element.
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/ProblemIO.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <zlib.h>

namespace divisi::search {

namespace {
/// A reader of JSON that remembers its first error; after one, everything
/// fails at once.
class Reader {
public:
  Reader(std::string_view text, std::string &error)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()),
        error_(error) {}

  bool fail(const std::string &what) {
    if (error_.empty()) {
      auto line = std::count(begin_, at_, '\n') + 1;
      error_ = "line " + std::to_string(line) + ": " + what;
    }
    at_ = end_;
    return false;
  }

  char peek() {
    while (at_ != end_ &&
           (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) {
      ++at_;
    }
    return at_ == end_ ? '\0' : *at_;
  }

  bool take(char c) {
    if (peek() != c) {
      return false;
    }
    ++at_;
    return true;
  }

  bool expect(char c) {
    return take(c) || fail(std::string("expected '") + c + "'");
  }

  bool integer(int64_t &value) {
    peek();
    auto [next, code] = std::from_chars(at_, end_, value);
    if (code != std::errc() ||
        (next != end_ && (*next == '.' || *next == 'e' || *next == 'E'))) {
      return fail("expected an integer of 64 bits");
    }
    at_ = next;
    return true;
  }

  bool string(std::string &value) {
    if (!expect('"')) {
      return false;
    }
    value.clear();
    while (at_ != end_ && *at_ != '"') {
      if (*at_ != '\\') {
        value += *at_++;
      } else if (!escape(value)) {
        return false;
      }
    }
    return at_ != end_ ? (++at_, true) : fail("expected '\"'");
  }

  template <typename Element> bool array(Element element) {
    if (!expect('[')) {
      return false;
    }
    if (take(']')) {
      return true;
    }
    do {
      if (!element()) {
        return false;
      }
    } while (take(','));
    return expect(']');
  }

  /// Calls `member(key)`, which reads the value.
  template <typename Member> bool object(Member member) {
    if (!expect('{')) {
      return false;
    }
    if (take('}')) {
      return true;
    }
    std::string key;
    do {
      if (!string(key) || !expect(':') || !member(key)) {
        return false;
      }
    } while (take(','));
    return expect('}');
  }

  /// Skips a value of any kind. Depth is limited: the text may be hostile.
  bool skip(int depth = 0) {
    if (depth > 64) {
      return fail("values are nested too deeply");
    }
    switch (peek()) {
    case '{':
      return object([&](const std::string &) { return skip(depth + 1); });
    case '[':
      return array([&] { return skip(depth + 1); });
    case '"': {
      std::string ignored;
      return string(ignored);
    }
    default:
      return word();
    }
  }

  bool atEnd() { return peek() == '\0' && at_ == end_; }

private:
  bool escape(std::string &value) {
    static constexpr char names[] = "\"\\/bfnrt";
    static constexpr char values[] = "\"\\/\b\f\n\r\t";
    ++at_;
    const char *name = at_ == end_ ? nullptr : std::strchr(names, *at_);
    if (!name || !*name) {
      return fail("this escape in a string is not supported");
    }
    value += values[name - names];
    ++at_;
    return true;
  }

  bool word() {
    const char *start = at_;
    while (at_ != end_ && (std::isalnum((unsigned char)*at_) || *at_ == '-' ||
                           *at_ == '+' || *at_ == '.')) {
      ++at_;
    }
    return at_ != start || fail("expected a value");
  }

  const char *begin_, *at_, *end_;
  std::string &error_;
};

/// The lists as they stand in the file, before they are joined.
struct Columns {
  std::vector<Lifetime> intervals, edgeIntervals;
  std::vector<std::vector<int64_t>> costs, usages, edgeCosts, edgeUsages;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> strategies;
  std::vector<Lifetime> ends; ///< Pairs of nodes, as integers.
};

/// Keeps equal matrices once.
class MatrixPool {
public:
  explicit MatrixPool(std::vector<Matrix> &matrices) : matrices_(matrices) {}

  uint32_t add(Matrix matrix) {
    size_t hash = matrix.rows;
    for (int64_t entry : matrix.entries) {
      hash = (hash ^ size_t(entry)) * 0x9E3779B97F4A7C15u;
    }
    std::vector<uint32_t> &same = byHash_[hash];
    for (uint32_t index : same) {
      if (matrices_[index] == matrix) {
        return index;
      }
    }
    same.push_back(uint32_t(matrices_.size()));
    matrices_.push_back(std::move(matrix));
    return same.back();
  }

private:
  std::vector<Matrix> &matrices_;
  std::unordered_map<size_t, std::vector<uint32_t>> byHash_;
};
} // namespace

static bool readIntegers(Reader &reader, std::vector<int64_t> &list) {
  return reader.array([&] { return reader.integer(list.emplace_back()); });
}

static bool readLists(Reader &reader,
                      std::vector<std::vector<int64_t>> &lists) {
  return reader.array(
      [&] { return readIntegers(reader, lists.emplace_back()); });
}

static bool readPairs(Reader &reader, std::vector<Lifetime> &pairs) {
  return reader.array([&] {
    Lifetime &pair = pairs.emplace_back();
    return reader.expect('[') && reader.integer(pair.begin) &&
           reader.expect(',') && reader.integer(pair.end) && reader.expect(']');
  });
}

static bool readStrings(Reader &reader, std::vector<std::string> &list) {
  return reader.array([&] { return reader.string(list.emplace_back()); });
}

static bool readNodes(Reader &reader, Columns &columns) {
  return reader.object([&](const std::string &key) {
    if (key == "intervals") {
      return readPairs(reader, columns.intervals);
    }
    if (key == "costs") {
      return readLists(reader, columns.costs);
    }
    if (key == "usages") {
      return readLists(reader, columns.usages);
    }
    if (key == "names") {
      return readStrings(reader, columns.names);
    }
    if (key == "strategies") {
      return reader.array([&] {
        return readStrings(reader, columns.strategies.emplace_back());
      });
    }
    return reader.skip();
  });
}

static bool readEdges(Reader &reader, Columns &columns) {
  return reader.object([&](const std::string &key) {
    if (key == "nodes") {
      return readPairs(reader, columns.ends);
    }
    if (key == "costs") {
      return readLists(reader, columns.edgeCosts);
    }
    if (key == "usages") {
      return readLists(reader, columns.edgeUsages);
    }
    if (key == "intervals") {
      return readPairs(reader, columns.edgeIntervals);
    }
    return reader.skip();
  });
}

static bool readBody(Reader &reader, Columns &columns, Problem &problem) {
  return reader.object([&](const std::string &key) {
    if (key == "name") {
      return reader.string(problem.name);
    }
    if (key == "nodes") {
      return readNodes(reader, columns);
    }
    if (key == "edges") {
      return readEdges(reader, columns);
    }
    if (key == "usage_limit") {
      return reader.integer(problem.usageLimit.emplace());
    }
    return reader.skip();
  });
}

/// An optional list must have `expected` entries if it has any.
static bool haveSize(size_t size, size_t expected, bool optional,
                     const char *what, std::string &error) {
  if (size == expected || (optional && size == 0)) {
    return true;
  }
  error = std::string(what) + " has " + std::to_string(size) +
          " entries, expected " + std::to_string(expected);
  return false;
}

static bool joinNodes(Columns &columns, Problem &problem, std::string &error) {
  size_t count = columns.costs.size();
  if (!haveSize(columns.intervals.size(), count, false, "nodes.intervals",
                error) ||
      !haveSize(columns.usages.size(), count, false, "nodes.usages", error) ||
      !haveSize(columns.names.size(), count, true, "nodes.names", error) ||
      !haveSize(columns.strategies.size(), count, true, "nodes.strategies",
                error)) {
    return false;
  }
  for (size_t i = 0; i != count; ++i) {
    Node &node = problem.nodes.emplace_back();
    node.live = columns.intervals[i];
    node.costs = std::move(columns.costs[i]);
    node.usages = std::move(columns.usages[i]);
    if (!columns.names.empty()) {
      node.name = std::move(columns.names[i]);
    }
    if (!columns.strategies.empty()) {
      node.strategies = std::move(columns.strategies[i]);
    }
  }
  return true;
}

static bool joinEdges(Columns &columns, Problem &problem, std::string &error) {
  size_t count = columns.ends.size(), nodes = problem.nodes.size();
  if (!haveSize(columns.edgeCosts.size(), count, false, "edges.costs", error) ||
      !haveSize(columns.edgeUsages.size(), count, true, "edges.usages",
                error) ||
      !haveSize(columns.edgeIntervals.size(), columns.edgeUsages.size(), false,
                "edges.intervals", error)) {
    return false;
  }
  MatrixPool pool(problem.matrices);
  for (size_t i = 0; i != count; ++i) {
    auto [from, to] = columns.ends[i];
    if (from < 0 || to < 0 || size_t(from) >= nodes || size_t(to) >= nodes) {
      error = "edge " + std::to_string(i) + " joins nodes " +
              std::to_string(from) + " and " + std::to_string(to) + ", of " +
              std::to_string(nodes);
      return false;
    }
    Edge &edge = problem.edges.emplace_back();
    edge.from = uint32_t(from);
    edge.to = uint32_t(to);
    uint32_t rows = uint32_t(problem.nodes[from].costs.size());
    uint32_t width = uint32_t(problem.nodes[to].costs.size());
    edge.costs = pool.add({rows, width, std::move(columns.edgeCosts[i])});
    if (!columns.edgeUsages.empty() && !columns.edgeUsages[i].empty()) {
      edge.usages = pool.add({rows, width, std::move(columns.edgeUsages[i])});
      edge.live = columns.edgeIntervals[i];
    }
  }
  return true;
}

std::optional<Problem> readProblem(std::string_view json, std::string &error) {
  error.clear();
  Reader reader(json, error);
  Columns columns;
  Problem problem;
  bool found = false;
  bool read = reader.object([&](const std::string &key) {
    if (key != "problem") {
      return reader.skip();
    }
    found = true;
    return readBody(reader, columns, problem);
  });
  if (read && !reader.atEnd()) {
    read = reader.fail("expected the end of the text");
  }
  if (read && !found) {
    read = reader.fail("expected a key \"problem\"");
  }
  if (!read || !joinNodes(columns, problem, error) ||
      !joinEdges(columns, problem, error)) {
    return std::nullopt;
  }
  if (auto wrong = validate(problem)) {
    error = *wrong;
    return std::nullopt;
  }
  return problem;
}

std::optional<Problem> readProblemFile(const std::string &path,
                                       std::string &error) {
  constexpr size_t kLimit = size_t(4) << 30, kChunk = size_t(1) << 20;
  // Reads what is not gzip as it is.
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"),
                                                  gzclose);
  if (!file) {
    error = "cannot open '" + path + "'";
    return std::nullopt;
  }
  std::string text;
  while (true) {
    size_t size = text.size();
    text.resize(size + kChunk);
    int read = gzread(file.get(), text.data() + size, unsigned(kChunk));
    text.resize(size + std::max(read, 0));
    if (read < 0 || text.size() > kLimit) {
      error = read < 0 ? "cannot read '" + path + "': the file is damaged"
                       : "'" + path + "' holds more than 4 GiB";
      return std::nullopt;
    }
    if (read == 0) {
      break;
    }
  }
  std::optional<Problem> problem = readProblem(text, error);
  if (!problem) {
    error = path + ": " + error;
  }
  return problem;
}

static void writeString(std::string &out, const std::string &value) {
  out += '"';
  for (char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    // The reader knows no \u; a control character says nothing in a name.
    out += (unsigned char)c < 0x20 ? ' ' : c;
  }
  out += '"';
}

/// Writes `"key": [` … `]` with `element(i)` for each entry.
template <typename Element>
static void writeList(std::string &out, const char *key, size_t count,
                      Element element) {
  if (*key) {
    writeString(out, key);
    out += ": ";
  }
  out += '[';
  for (size_t i = 0; i != count; ++i) {
    out += i ? ", " : "";
    element(i);
  }
  out += ']';
}

static void writeIntegers(std::string &out, const std::vector<int64_t> &list) {
  writeList(out, "", list.size(),
            [&](size_t i) { out += std::to_string(list[i]); });
}

static void writePair(std::string &out, int64_t first, int64_t second) {
  writeIntegers(out, {first, second});
}

static void writeNodes(std::string &out, const std::vector<Node> &nodes) {
  size_t count = nodes.size();
  auto next = [&] { out += ",\n      "; };
  out += "    \"nodes\": {\n      ";
  writeList(out, "intervals", count, [&](size_t i) {
    writePair(out, nodes[i].live.begin, nodes[i].live.end);
  });
  next();
  writeList(out, "costs", count,
            [&](size_t i) { writeIntegers(out, nodes[i].costs); });
  next();
  writeList(out, "usages", count,
            [&](size_t i) { writeIntegers(out, nodes[i].usages); });
  if (std::ranges::any_of(nodes, [](auto &n) { return !n.name.empty(); })) {
    next();
    writeList(out, "names", count,
              [&](size_t i) { writeString(out, nodes[i].name); });
  }
  if (std::ranges::any_of(nodes,
                          [](auto &n) { return !n.strategies.empty(); })) {
    next();
    writeList(out, "strategies", count, [&](size_t i) {
      const std::vector<std::string> &names = nodes[i].strategies;
      writeList(out, "", names.size(),
                [&](size_t s) { writeString(out, names[s]); });
    });
  }
  out += "\n    },\n";
}

static void writeEdges(std::string &out, const Problem &problem) {
  const std::vector<Edge> &edges = problem.edges;
  out += "    \"edges\": {\n      ";
  writeList(out, "nodes", edges.size(),
            [&](size_t i) { writePair(out, edges[i].from, edges[i].to); });
  out += ",\n      ";
  writeList(out, "costs", edges.size(), [&](size_t i) {
    writeIntegers(out, problem.matrices[edges[i].costs].entries);
  });
  if (std::ranges::any_of(edges,
                          [](auto &e) { return e.usages.has_value(); })) {
    out += ",\n      ";
    writeList(out, "usages", edges.size(), [&](size_t i) {
      writeIntegers(out, edges[i].usages
                             ? problem.matrices[*edges[i].usages].entries
                             : std::vector<int64_t>());
    });
    out += ",\n      ";
    writeList(out, "intervals", edges.size(), [&](size_t i) {
      writePair(out, edges[i].live.begin, edges[i].live.end);
    });
  }
  out += "\n    }";
}

std::string writeProblem(const Problem &problem) {
  std::string out = "{\n  \"problem\": {\n    \"name\": ";
  writeString(out, problem.name);
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
