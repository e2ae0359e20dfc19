//===- MatrixPool.cpp - Equal matrices, once ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixPool.h"

#include <algorithm>

namespace divisi::search {

/// Two lanes, so that multiplications overlap.
static uint64_t hashOf(std::span<const int64_t> entries) {
  constexpr uint64_t factor = 0x9E3779B97F4A7C15u;
  uint64_t even = entries.size(), odd = ~even;
  size_t i = 0;
  for (; i + 1 < entries.size(); i += 2) {
    even = (even ^ uint64_t(entries[i])) * factor;
    odd = (odd ^ uint64_t(entries[i + 1])) * factor;
    even ^= even >> 32;
    odd ^= odd >> 29;
  }
  if (i != entries.size()) {
    even = (even ^ uint64_t(entries[i])) * factor;
  }
  return (even ^ (odd >> 31)) * factor + odd;
}

bool MatrixPool::before(const Candidate &a, const Candidate &b) {
  if (a.hash != b.hash) {
    return a.hash < b.hash;
  }
  return std::ranges::lexicographical_compare(a.entries, b.entries);
}

uint32_t MatrixPool::add(std::span<const int64_t> entries) {
  Candidate list{hashOf(entries), entries};
  auto at = numbers_.lower_bound(list);
  if (at != numbers_.end() &&
      std::ranges::equal(lists_[*at].entries, entries)) {
    return *at;
  }
  uint32_t number = uint32_t(lists_.size());
  lists_.push_back(
      {list.hash, entries.size(), {entries.begin(), entries.end()}, {}});
  numbers_.insert(at, number);
  return number;
}

uint32_t MatrixPool::matrix(uint32_t number, uint32_t rows, uint32_t columns,
                            std::vector<Matrix> &matrices) {
  List &list = lists_[number];
  for (uint32_t index : list.matrices) {
    if (matrices[index].rows == rows && matrices[index].columns == columns) {
      return index;
    }
  }
  Matrix matrix{rows, columns, {}};
  matrix.entries = list.matrices.empty()
                       ? std::move(list.entries)
                       : matrices[list.matrices.front()].entries;
  list.matrices.push_back(uint32_t(matrices.size()));
  matrices.push_back(std::move(matrix));
  return list.matrices.back();
}

} // namespace divisi::search
