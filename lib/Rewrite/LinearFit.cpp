//===- LinearFit.cpp - Linear forms through samples -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/LinearFit.h"

#include "divisi/runtime/FieldElement.h"

#include <utility>

using divisi::rt::FieldElement;

/// Gaussian elimination in the prime field, where nothing is rounded; the last
/// column is the right side. Returns for each column but that its row, or -1.
static std::vector<int>
eliminate(std::vector<std::vector<FieldElement>> &rows, size_t columns) {
  std::vector<int> rowOf(columns, -1);
  size_t next = 0;
  for (size_t column = 0; column != columns; ++column) {
    size_t pivot = next;
    while (pivot != rows.size() && rows[pivot][column] == FieldElement(0)) {
      ++pivot;
    }
    if (pivot == rows.size()) {
      continue;
    }
    std::swap(rows[next], rows[pivot]);
    FieldElement inverse = FieldElement(1) / rows[next][column];
    for (FieldElement &entry : rows[next]) {
      entry = entry * inverse;
    }
    for (size_t row = 0; row != rows.size(); ++row) {
      FieldElement factor = rows[row][column];
      if (row == next || factor == FieldElement(0)) {
        continue;
      }
      for (size_t i = 0; i <= columns; ++i) {
        rows[row][i] = rows[row][i] - factor * rows[next][i];
      }
    }
    rowOf[column] = int(next++);
  }
  return rowOf;
}

std::optional<std::vector<int64_t>>
divisi::rewrite::fitLinear(const std::vector<std::vector<int64_t>> &points,
                           const std::vector<int64_t> &values) {
  constexpr int64_t most = 1000;
  size_t columns = points.front().size();
  std::vector<std::vector<FieldElement>> rows;
  for (size_t i = 0; i != points.size(); ++i) {
    rows.emplace_back(points[i].begin(), points[i].end());
    rows.back().emplace_back(values[i]);
  }
  std::vector<int> rowOf = eliminate(rows, columns);
  std::vector<int64_t> result(columns);
  for (size_t column = 0; column != columns; ++column) {
    if (rowOf[column] >= 0) {
      result[column] = int64_t(rows[size_t(rowOf[column])][columns]);
    }
  }
  for (size_t i = 0; i != points.size(); ++i) {
    int64_t sum = 0;
    for (size_t column = 0; column != columns; ++column) {
      if (result[column] > most || result[column] < -most) {
        return std::nullopt;
      }
      sum += result[column] * points[i][column];
    }
    if (sum != values[i]) {
      return std::nullopt;
    }
  }
  return result;
}
