//===- Model.cpp - The problem as solvers compute with it -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include <algorithm>
#include <limits>

namespace divisi::search {

void Table::round() {
  uint32_t columnStride = padded(columns), rowStride = padded(rows);
  rounded.assign(size_t(rows) * columnStride, float(kTop));
  transposed.assign(size_t(columns) * rowStride, float(kTop));
  for (uint32_t i = 0; i != rows; ++i) {
    for (uint32_t j = 0; j != columns; ++j) {
      rounded[size_t(i) * columnStride + j] = float(at(i, j));
      transposed[size_t(j) * rowStride + i] = float(at(i, j));
      hard |= at(i, j) >= kForbidden;
    }
  }
}

int64_t Model::numEntries() const {
  int64_t entries = 0;
  for (const Pair &pair : pairs) {
    entries += int64_t(numStates(pair.first)) * numStates(pair.second);
  }
  return entries;
}

void Model::index() {
  pairsOf.assign(variables.size(), {});
  for (uint32_t p = 0; p != pairs.size(); ++p) {
    pairsOf[pairs[p].second].push_back(p);
  }
  for (uint32_t p = 0; p != pairs.size(); ++p) {
    pairsOf[pairs[p].first].push_back(p);
  }
}

double costOf(const Model &model, const Assignment &assignment) {
  double cost = model.constant;
  for (size_t v = 0; v != assignment.size(); ++v) {
    cost += model.variables[v].costs[assignment[v]];
  }
  for (const Pair &pair : model.pairs) {
    cost += pair.table->at(assignment[pair.first], assignment[pair.second]);
  }
  return cost;
}

void excessOf(const Model &model, const Assignment &assignment,
              std::vector<double> &excess) {
  // Differences first, then sums; the last position takes what ends there.
  size_t count = model.capacity.size();
  excess.assign(count + 1, 0);
  for (size_t v = 0; v != assignment.size(); ++v) {
    for (const Usage &usage : model.variables[v].usages) {
      excess[usage.begin] += usage.usages[assignment[v]];
      excess[usage.end] -= usage.usages[assignment[v]];
    }
  }
  for (const Pair &pair : model.pairs) {
    for (const Usage &usage : pair.usages) {
      double bytes =
          usage.usages[size_t(assignment[pair.first]) * pair.table->columns +
                       assignment[pair.second]];
      excess[usage.begin] += bytes;
      excess[usage.end] -= bytes;
    }
  }
  double used = 0;
  for (size_t t = 0; t != count; ++t) {
    used += excess[t];
    excess[t] = used - model.capacity[t];
  }
  excess.pop_back();
}

Value valueOf(const Model &model, const Assignment &assignment) {
  Value value;
  value.cost = costOf(model, assignment);
  std::vector<double> excess;
  excessOf(model, assignment, excess);
  for (double over : excess) {
    value.excess += std::max(over, 0.0);
  }
  return value;
}

std::vector<uint32_t> expand(const Reduction &reduction,
                             const ReducedModel &reduced,
                             const Assignment &assignment) {
  std::vector<uint32_t> nodes(reduction.variableOf.size());
  for (size_t i = 0; i != nodes.size(); ++i) {
    int32_t variable = reduced.variableOf[reduction.variableOf[i]];
    uint32_t state = variable < 0 ? 0 : assignment[variable];
    nodes[i] = reduction.strategies[i][state];
  }
  return nodes;
}

Assignment contract(const Reduction &reduction, const ReducedModel &reduced,
                    const std::vector<uint32_t> &nodes) {
  Assignment assignment;
  for (uint32_t root : reduced.nodeOf) {
    const std::vector<uint32_t> &states = reduction.states[root];
    assignment.push_back(uint32_t(
        std::ranges::lower_bound(states, nodes[root]) - states.begin()));
  }
  return assignment;
}

} // namespace divisi::search
