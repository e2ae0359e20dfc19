//===- IntegerProgram.cpp - The problem as rows and columns ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerProgram.h"

#include <algorithm>
#include <cmath>

namespace divisi::search {

/// Which factors transient memory belongs to.
static std::vector<bool> factorsWithMemory(const ExactProblem &exact) {
  std::vector<bool> with(exact.costs.size(), false);
  for (const ExactProblem::Use &use : exact.uses) {
    with[use.factor] = with[use.factor] || use.u != use.v;
  }
  return with;
}

static size_t numFeasible(const Factor &factor) {
  return size_t(std::ranges::count_if(
      factor.values, [](Wide value) { return value < kForbiddenWideSum; }));
}

/// Whether a pair's costs are c(s, 0) + c(0, t) - c(0, 0), all feasible.
static bool isSeparable(const Factor &factor, size_t columns) {
  const std::vector<Wide> &c = factor.values;
  for (size_t i = 0; i != c.size(); ++i) {
    size_t row = i / columns * columns, column = i % columns;
    if (c[i] >= kForbiddenWideSum || c[i] + c[0] != c[row] + c[column]) {
      return false;
    }
  }
  return true;
}

double IntegerProgram::countEntries(const ExactProblem &exact) {
  double entries = 0;
  for (const Factor &factor : exact.costs) {
    entries += double(factor.scope.size()) * double(numFeasible(factor));
    for (uint32_t v : factor.scope) {
      entries += factor.scope.size() == 2 ? exact.sizes[v] : 0;
    }
  }
  for (const ExactProblem::Use &use : exact.uses) {
    if (!use.times.empty()) {
      entries += double(use.times.end - use.times.begin) *
                 double(std::ranges::count_if(
                     use.usages, [](int64_t usage) { return usage != 0; }));
    }
  }
  return entries;
}

IntegerProgram::IntegerProgram(const ExactProblem &exact)
    : exact_(exact), columns_(exact.costs.size()) {
  addColumns();
  for (uint32_t f = uint32_t(exact.sizes.size()); f != exact.costs.size();
       ++f) {
    if (!columns_[f].empty()) {
      addMarginals(f);
    }
  }
  addMemory();
  rowStart.push_back(int(index.size()));
  scaleCosts();
}

/// A column for each state of a node that has a choice, and for each entry of a
/// pair whose costs are no sum of its ends'. Such sums go to the nodes'
/// columns.
void IntegerProgram::addColumns() {
  std::vector<Factor> costs = exact_.costs;
  std::vector<bool> needed = factorsWithMemory(exact_);
  uint32_t numVariables = uint32_t(exact_.sizes.size());
  for (uint32_t f = numVariables; f != costs.size(); ++f) {
    uint32_t u = costs[f].scope[0], v = costs[f].scope[1];
    size_t columns = exact_.sizes[v];
    needed[f] = needed[f] || !isSeparable(costs[f], columns);
    const std::vector<Wide> &values = costs[f].values;
    for (size_t i = 0; !needed[f] && i != values.size(); ++i) {
      if (i % columns == 0) {
        costs[u].values[i / columns] += values[i];
      }
      if (i < columns) {
        costs[v].values[i] += values[i] - values[0];
      }
    }
  }
  Wide sumOfLeast = 0;
  for (uint32_t f = 0; f != costs.size(); ++f) {
    bool isNode = f < numVariables;
    if (!isNode && !needed[f]) {
      continue;
    }
    Wide least = std::ranges::min(costs[f].values);
    sumOfLeast += least;
    if (isNode && exact_.sizes[f] == 1) {
      continue;
    }
    for (Wide value : costs[f].values) {
      bool feasible = value < kForbiddenWideSum;
      columns_[f].push_back(feasible ? numColumns() : kNone);
      if (feasible) {
        cost.push_back(double(value - least));
        isInteger.push_back(isNode);
      }
    }
    if (isNode) {
      beginRow(1, 1);
      for (int column : columns_[f]) {
        addEntry(column, 1);
      }
    }
  }
  offset = double(sumOfLeast);
}

void IntegerProgram::beginRow(double lower, double upper) {
  rowStart.push_back(int(index.size()));
  rowLower.push_back(lower);
  rowUpper.push_back(upper);
}

void IntegerProgram::addEntry(int column, double coefficient) {
  if (column != kNone && coefficient != 0) {
    index.push_back(column);
    value.push_back(coefficient);
  }
}

/// A pair's entries in a row sum to the column of its first end's state, and
/// those in a column to its second end's.
void IntegerProgram::addMarginals(uint32_t factor) {
  uint32_t u = exact_.costs[factor].scope[0], v = exact_.costs[factor].scope[1];
  size_t rows = exact_.sizes[u], columns = exact_.sizes[v];
  for (size_t s = 0; s != rows; ++s) {
    beginRow(0, 0);
    addEntry(columns_[u][s], -1);
    for (size_t t = 0; t != columns; ++t) {
      addEntry(columns_[factor][s * columns + t], 1);
    }
  }
  for (size_t t = 0; t != columns; ++t) {
    beginRow(0, 0);
    addEntry(columns_[v][t], -1);
    for (size_t s = 0; s != rows; ++s) {
      addEntry(columns_[factor][s * columns + t], 1);
    }
  }
}

/// Limits are scaled to a million at most: rows hold to 1e-6.
void IntegerProgram::addMemory() {
  constexpr double kLargestLimit = 1e6;
  std::vector<std::vector<const ExactProblem::Use *>> usesAt(
      exact_.times.size());
  for (const ExactProblem::Use &use : exact_.uses) {
    for (size_t t = use.times.begin; t < use.times.end; ++t) {
      usesAt[t].push_back(&use);
    }
  }
  // An edge may use memory through the columns of a node: entries add up.
  std::vector<Wide> sums(cost.size(), 0);
  for (size_t t = 0; t != usesAt.size(); ++t) {
    auto limit = double(exact_.limits[t]);
    double unit = std::min(1.0, kLargestLimit / std::max(limit, 1.0));
    Wide fixed = 0;
    std::vector<int> touched;
    for (const ExactProblem::Use *use : usesAt[t]) {
      const std::vector<int> &columns = columns_[use->factor];
      if (columns.empty()) {
        fixed += use->usages.front();
        continue;
      }
      for (size_t i = 0; i != columns.size(); ++i) {
        if (columns[i] != kNone && use->usages[i] != 0) {
          sums[size_t(columns[i])] += use->usages[i];
          touched.push_back(columns[i]);
        }
      }
    }
    beginRow(-INFINITY, double(exact_.limits[t] - fixed) * unit);
    for (int column : touched) {
      addEntry(column, double(sums[size_t(column)]) * unit);
      sums[size_t(column)] = 0; // Those met again add nothing.
    }
  }
}

/// To at most a million, so that a tolerance of 1e-6 is small.
void IntegerProgram::scaleCosts() {
  constexpr double kLargestCost = 1e6;
  double largest = 1;
  for (double c : cost) {
    largest = std::max(largest, c);
  }
  scale = std::min(1.0, kLargestCost / largest);
  for (double &c : cost) {
    c *= scale;
  }
}

std::vector<uint32_t> IntegerProgram::states(const double *values) const {
  std::vector<uint32_t> states(exact_.sizes.size(), 0);
  for (size_t v = 0; v != states.size(); ++v) {
    const std::vector<int> &columns = columns_[v];
    for (uint32_t s = 1; s < columns.size(); ++s) {
      if (values[columns[s]] > values[columns[states[v]]]) {
        states[v] = s;
      }
    }
  }
  return states;
}

std::vector<double>
IntegerProgram::values(std::span<const uint32_t> states) const {
  std::vector<double> values(cost.size(), 0);
  for (size_t f = 0; f != columns_.size(); ++f) {
    if (columns_[f].empty()) {
      continue;
    }
    size_t at = 0;
    for (uint32_t v : exact_.costs[f].scope) {
      at = at * exact_.sizes[v] + states[v];
    }
    values[size_t(columns_[f][at])] = 1;
  }
  return values;
}

} // namespace divisi::search
