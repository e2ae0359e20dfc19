//===- ProblemLists.cpp - The lists of a problem's file -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemLists.h"
#include "TextCache.h"

namespace divisi::search {

namespace {
class ListReader {
public:
  ListReader(JsonText &text, ProblemLists &lists)
      : text_(text), lists_(lists) {}
  bool read();

private:
  using Value = JsonText::Value;

  bool readProblem(Value value);
  bool readNodes(Value value);
  bool readEdges(Value value);

  template <typename T, typename Read>
  bool column(Value value, Column<T> &column, Read read);
  bool pair(Value value, IntegerPair &pair);
  bool pairs(Value value, Column<IntegerPair> &pairs);
  bool isInterval(const IntegerPair &pair, uint32_t offset,
                  const std::string &path);
  bool intervals(Value value, Column<IntegerPair> &intervals);
  bool moreIntervals(Value value, Column<std::vector<IntegerPair>> &intervals);
  bool moreUsages(Value value);
  bool moreMatrices(Value value);
  bool resources(Value value);
  bool cost(Value value, int64_t &cost);
  bool usage(Value value, int64_t &usage);
  template <typename T, typename Read>
  bool lists(Value value, Lists<T> &lists, Read read);
  bool numbers(Value value, Lists<int64_t> &lists, bool usages);
  bool matrices(Value value, Column<uint32_t> &numbers, bool usages);
  std::string_view upToBracket(size_t offset) const;

  JsonText &text_;
  ProblemLists &lists_;
  std::vector<int64_t> entries_; ///< Of the matrix at hand.
};
} // namespace

template <typename T, typename Read>
bool ListReader::column(Value value, Column<T> &column, Read read) {
  column.found = true;
  column.offset = text_.offset(value);
  return text_.list(value, [&](Value item) {
    column.offsets.push_back(text_.offset(item));
    return read(item);
  });
}

bool ListReader::pair(Value value, IntegerPair &pair) {
  int64_t *numbers[] = {&pair.first, &pair.second};
  size_t count = 0;
  uint32_t offset = text_.offset(value);
  auto number = [&](Value each) {
    return count < 2 ? text_.integer(each, *numbers[count++])
                     : text_.fail(text_.offset(each),
                                  "expected two numbers, got a third");
  };
  if (!text_.list(value, number)) {
    return false;
  }
  return count == 2 || text_.fail(offset, "expected two numbers, got " +
                                              std::to_string(count));
}

bool ListReader::pairs(Value value, Column<IntegerPair> &pairs) {
  return column(value, pairs, [&](Value item) {
    return pair(item, pairs.items.emplace_back());
  });
}

bool ListReader::isInterval(const IntegerPair &pair, uint32_t offset,
                            const std::string &path) {
  auto [begin, end] = pair;
  if (begin < 0) {
    return text_.fail(offset,
                      "this interval begins at " + std::to_string(begin) +
                          "; expected no time below zero",
                      path);
  }
  return end >= begin ||
         text_.fail(offset,
                    "this interval ends at " + std::to_string(end) +
                        ", before it begins at " + std::to_string(begin),
                    path);
}

bool ListReader::intervals(Value value, Column<IntegerPair> &intervals) {
  if (!pairs(value, intervals)) {
    return false;
  }
  for (size_t i = 0; i != intervals.items.size(); ++i) {
    if (!isInterval(intervals.items[i], intervals.offsets[i],
                    "[" + std::to_string(i) + "]")) {
      return false;
    }
  }
  return true;
}

/// For each node or edge a list, whose order is checked where it is joined with
/// the first interval.
bool ListReader::moreIntervals(Value value,
                               Column<std::vector<IntegerPair>> &intervals) {
  return column(value, intervals, [&](Value item) {
    std::vector<IntegerPair> &list = intervals.items.emplace_back();
    return text_.list(item, [&](Value each) {
      uint32_t offset = text_.offset(each);
      return pair(each, list.emplace_back()) &&
             isInterval(list.back(), offset, "");
    });
  });
}

bool ListReader::moreUsages(Value value) {
  return column(value, lists_.moreUsages, [&](Value item) {
    auto &resources = lists_.moreUsages.items.emplace_back();
    return text_.list(item, [&](Value each) {
      std::vector<int64_t> &usages = resources.emplace_back();
      return text_.list(each, [&](Value number) {
        return usage(number, usages.emplace_back());
      });
    });
  });
}

bool ListReader::moreMatrices(Value value) {
  return column(value, lists_.edgeMoreUsages, [&](Value item) {
    std::vector<uint32_t> &resources =
        lists_.edgeMoreUsages.items.emplace_back();
    return text_.list(item, [&](Value each) {
      entries_.clear();
      bool good = text_.list(each, [&](Value number) {
        return usage(number, entries_.emplace_back());
      });
      resources.push_back(good ? lists_.pool.add(entries_) : 0);
      return good;
    });
  });
}

bool ListReader::resources(Value value) {
  return text_.list(value, [&](Value item) {
    ResourceLimit &resource = lists_.moreResources.emplace_back();
    JsonText::Member members[] = {
        {"name", false,
         [&](Value v) { return text_.string(v, resource.name); }},
        {"usage_limit", false,
         [&](Value v) { return text_.integer(v, resource.limit.emplace()); }}};
    return text_.object(item, members);
  });
}

/// Whatever is infeasible costs more; and costs may be negated.
bool ListReader::cost(Value value, int64_t &cost) {
  if (!text_.integer(value, cost)) {
    return false;
  }
  return cost > -kInfeasible ||
         text_.fail(text_.offset(value), "a cost of " + std::to_string(cost) +
                                             "; expected it above " +
                                             std::to_string(-kInfeasible));
}

bool ListReader::usage(Value value, int64_t &usage) {
  if (!text_.integer(value, usage)) {
    return false;
  }
  return usage >= 0 ||
         text_.fail(text_.offset(value), "a usage of " + std::to_string(usage) +
                                             "; expected none below zero");
}

template <typename T, typename Read>
bool ListReader::lists(Value value, Lists<T> &lists, Read read) {
  return column(value, lists, [&](Value item) {
    bool good = text_.list(item, [&](Value each) {
      return read(each, lists.values.emplace_back());
    });
    lists.items.push_back(lists.values.size());
    return good;
  });
}

bool ListReader::numbers(Value value, Lists<int64_t> &lists, bool usages) {
  return this->lists(value, lists, [&](Value each, int64_t &number) {
    return usages ? usage(each, number) : cost(each, number);
  });
}

/// Most matrices repeat one that was read before, letter by letter: those are
/// not parsed again.
bool ListReader::matrices(Value value, Column<uint32_t> &numbers, bool usages) {
  TextCache cache(text_.text().size());
  return column(value, numbers, [&](Value item) {
    // What was parsed has no strings and no lists inside: it ends with the
    // first bracket, and so does whatever equals it.
    TextCache::Key key = cache.key(upToBracket(numbers.offsets.back()));
    if (auto number = cache.find(key)) {
      numbers.items.push_back(*number);
      return true;
    }
    entries_.clear();
    bool good = text_.list(item, [&](Value each) {
      int64_t &number = entries_.emplace_back();
      return usages ? usage(each, number) : cost(each, number);
    });
    if (!good) {
      return false;
    }
    numbers.items.push_back(lists_.pool.add(entries_));
    cache.put(key, numbers.items.back());
    return true;
  });
}

/// The text from `offset` to the next ']', or to the end.
std::string_view ListReader::upToBracket(size_t offset) const {
  std::string_view rest = text_.text().substr(offset);
  return rest.substr(0, std::min(rest.find(']'), rest.size() - 1) + 1);
}

bool ListReader::readNodes(Value value) {
  JsonText::Member members[] = {
      {"intervals", true,
       [&](Value v) { return intervals(v, lists_.intervals); }},
      {"costs", true, [&](Value v) { return numbers(v, lists_.costs, false); }},
      {"usages", true,
       [&](Value v) { return numbers(v, lists_.usages, true); }},
      {"names", false,
       [&](Value v) {
         return column(v, lists_.names, [&](Value item) {
           return text_.string(item, lists_.names.items.emplace_back());
         });
       }},
      {"strategies", false,
       [&](Value v) {
         return lists(v, lists_.strategies,
                      [&](Value item, std::string_view &name) {
                        return text_.string(item, name);
                      });
       }},
      {"more_intervals", false,
       [&](Value v) { return moreIntervals(v, lists_.moreIntervals); }},
      {"more_usages", false, [&](Value v) { return moreUsages(v); }},
  };
  return text_.object(value, members);
}

bool ListReader::readEdges(Value value) {
  JsonText::Member members[] = {
      {"nodes", true, [&](Value v) { return pairs(v, lists_.ends); }},
      {"costs", true,
       [&](Value v) { return matrices(v, lists_.edgeCosts, false); }},
      {"usages", false,
       [&](Value v) { return matrices(v, lists_.edgeUsages, true); }},
      {"intervals", false,
       [&](Value v) { return intervals(v, lists_.edgeIntervals); }},
      {"more_intervals", false,
       [&](Value v) { return moreIntervals(v, lists_.edgeMoreIntervals); }},
      {"more_usages", false, [&](Value v) { return moreMatrices(v); }},
  };
  return text_.object(value, members);
}

bool ListReader::readProblem(Value value) {
  JsonText::Member members[] = {
      {"name", false, [&](Value v) { return text_.string(v, lists_.name); }},
      {"nodes", true, [&](Value v) { return readNodes(v); }},
      {"edges", true, [&](Value v) { return readEdges(v); }},
      {"usage_limit", false,
       [&](Value v) { return text_.integer(v, lists_.usageLimit.emplace()); }},
      {"resource", false,
       [&](Value v) { return text_.string(v, lists_.resource); }},
      {"more_resources", false, [&](Value v) { return resources(v); }},
  };
  return text_.object(value, members);
}

bool ListReader::read() {
  JsonText::Member members[] = {
      {"problem", true, [&](Value value) { return readProblem(value); }}};
  return text_.readRoot(members);
}

bool readProblemLists(JsonText &text, ProblemLists &lists) {
  return ListReader(text, lists).read();
}

} // namespace divisi::search
