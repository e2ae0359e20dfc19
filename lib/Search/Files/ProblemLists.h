//===- ProblemLists.h - The lists of a problem's file -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file gives costs, usages and so on as lists, one entry for each node or
// edge, in whatever order. They are read as they stand; what is wrong with a
// number or an interval by itself is found then, what does not fit together
// when they are joined. Each entry remembers where it stands in the text, for
// the message.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FILES_PROBLEMLISTS_H
#define DIVISI_LIB_SEARCH_FILES_PROBLEMLISTS_H

#include "MatrixPool.h"
#include "divisi/Support/JsonText.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace divisi::search {

/// A list of T, one for each node or edge, and where they stand in the text.
template <typename T> struct Column {
  std::vector<T> items;          ///< In the order of the text.
  std::vector<uint32_t> offsets; ///< In the text, of each item.
  uint32_t offset = 0;           ///< In the text, of the whole list.
  bool found = false;            ///< Whether the text has the list.
};

/// A list of lists of T, one behind the other: allocating each costs more than
/// reading it.
template <typename T> struct Lists : Column<size_t> { ///< Where each ends.
  std::vector<T> values; ///< Of all lists, one behind the other.
  std::span<const T> operator[](size_t i) const {
    size_t begin = i == 0 ? 0 : items[i - 1];
    return {values.data() + begin, items[i] - begin};
  }
};

/// An interval, or the two ends of an edge.
struct IntegerPair {
  int64_t first, second; ///< As they stand.
};

/// A further resource, as it stands.
struct ResourceLimit {
  std::string_view name;        ///< Empty if it has none.
  std::optional<int64_t> limit; ///< None if it has none.
};

/// All that a text says. Strings are the JsonText's.
struct ProblemLists {
  std::string_view name;                    ///< Empty if it has none.
  std::optional<int64_t> usageLimit;        ///< None if it has none.
  std::string_view resource;                ///< Empty if it has none.
  std::vector<ResourceLimit> moreResources; ///< In the order of the text.
  /// One entry a node.
  Column<IntegerPair> intervals;
  Lists<int64_t> costs, usages;
  Column<std::string_view> names;
  Lists<std::string_view> strategies;
  Column<std::vector<IntegerPair>> moreIntervals;
  Column<std::vector<std::vector<int64_t>>> moreUsages; ///< By resource.
  /// One entry an edge; matrices are numbers of lists in the pool.
  Column<IntegerPair> ends, edgeIntervals;
  Column<uint32_t> edgeCosts, edgeUsages;
  Column<std::vector<IntegerPair>> edgeMoreIntervals;
  Column<std::vector<uint32_t>> edgeMoreUsages; ///< By resource.
  MatrixPool pool; ///< Of all lists of matrix entries.
};

/// Reads `text`; false if it says what is wrong.
bool readProblemLists(JsonText &text, ProblemLists &lists);

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FILES_PROBLEMLISTS_H
