//===- LinearFit.cpp - Linear forms through samples -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/LinearFit.h"

#include "divisi/Rules/RuleText.h"

#include "divisi/runtime/kernels/FieldElement.h"

#include <utility>

using namespace divisi::rewrite;
using divisi::rt::FieldElement;

/// Gaussian elimination in the prime field, where nothing is rounded; the last
/// column is the right side. Returns for each column but that its row, or -1.
static std::vector<int> eliminate(std::vector<std::vector<FieldElement>> &rows,
                                  size_t columns) {
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

Expr divisi::rewrite::numberExpr(int64_t value) {
  Expr result;
  result.value = value;
  return result;
}

Expr divisi::rewrite::realExpr(double number) {
  Expr result;
  result.kind = Expr::Kind::Real;
  result.real = number;
  result.name = printExpr(result);
  return result;
}

Expr divisi::rewrite::nameExpr(const std::string &name) {
  Expr result;
  result.kind = Expr::Kind::Name;
  result.name = name;
  return result;
}

Expr divisi::rewrite::linearForm(const std::vector<int64_t> &coefficients,
                                 const std::vector<std::string> &symbols) {
  std::optional<Expr> sum;
  for (size_t i = 1; i <= coefficients.size(); ++i) {
    // The constant comes last.
    size_t at = i == coefficients.size() ? 0 : i;
    int64_t factor = coefficients[at];
    if (factor == 0) {
      continue;
    }
    Expr term = at == 0 ? numberExpr(factor) : nameExpr(symbols[at - 1]);
    if (at != 0 && factor != 1) {
      Expr product;
      product.kind = Expr::Kind::Mul;
      product.operands = {numberExpr(factor), std::move(term)};
      term = std::move(product);
    }
    if (!sum) {
      sum = std::move(term);
      continue;
    }
    Expr longer;
    longer.kind = Expr::Kind::Add;
    longer.operands = {std::move(*sum), std::move(term)};
    sum = std::move(longer);
  }
  return sum ? *sum : numberExpr(0);
}
