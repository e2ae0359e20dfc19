//===- MatrixPool.cpp - Equal matrices, kept once -------------------------===//
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

uint32_t MatrixPool::add(std::span<const int64_t> entries) {
  uint32_t number = uint32_t(lists_.size());
  lists_.push_back(
      {{entries.begin(), entries.end()}, entries.size(), number, std::nullopt});
  return number;
}

/// Sorts by hash, so that only lists of equal hashes are compared.
void MatrixPool::unify() {
  struct Hashed {
    uint64_t hash;
    uint32_t number;
  };
  std::vector<Hashed> order(lists_.size());
  for (uint32_t i = 0; i != order.size(); ++i) {
    order[i] = {hashOf(lists_[i].entries), i};
  }
  std::ranges::sort(order, {}, &Hashed::hash);
  std::vector<uint32_t> same;
  for (auto begin = order.begin(); begin != order.end();) {
    same.clear();
    uint64_t hash = begin->hash;
    for (; begin != order.end() && begin->hash == hash; ++begin) {
      same.push_back(begin->number);
    }
    unify(same);
  }
}

/// Finds equal ones among lists of the same hash. They need not be equal:
/// whoever knows the hash can make them collide.
void MatrixPool::unify(std::span<uint32_t> numbers) {
  if (numbers.size() == 1) {
    return;
  }
  std::ranges::sort(numbers, [&](uint32_t a, uint32_t b) {
    auto order = lists_[a].entries <=> lists_[b].entries;
    return order != 0 ? order < 0 : a < b;
  });
  for (size_t i = 1; i != numbers.size(); ++i) {
    List &list = lists_[numbers[i]], &before = lists_[numbers[i - 1]];
    if (list.entries == lists_[before.first].entries) {
      list.first = before.first;
    }
  }
}

/// A list has one shape, as a rule, and its entries move into that matrix;
/// others_ knows the matrices of further shapes.
uint32_t MatrixPool::matrix(uint32_t number, uint32_t rows, uint32_t columns,
                            std::vector<Matrix> &matrices) {
  number = lists_[number].first;
  List &list = lists_[number];
  uint32_t next = uint32_t(matrices.size());
  if (!list.matrix) {
    list.matrix = next;
    matrices.push_back({rows, columns, std::move(list.entries)});
    return next;
  }
  const Matrix &first = matrices[*list.matrix];
  if (first.rows == rows && first.columns == columns) {
    return *list.matrix;
  }
  auto [at, isNew] = others_.try_emplace({number, rows, columns}, next);
  if (isNew) {
    matrices.push_back({rows, columns, std::vector<int64_t>(first.entries)});
  }
  return at->second;
}

} // namespace divisi::search
