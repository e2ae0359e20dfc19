//===- CostGraph.cpp - The compiled problem that solvers work on ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostGraph.h"

#include <algorithm>
#include <limits>
#include <ranges>

namespace divisi::search {

/// Numbers lines, of these hashes, by the first that equals each. `line(i)` is
/// their i-th, as a range. `firsts` are those that differ; `classes` is empty
/// if they all do.
template <typename Line>
static void classify(const std::vector<uint64_t> &hashes, Line line,
                     std::vector<uint32_t> &firsts,
                     std::vector<uint32_t> &classes) {
  std::vector<uint64_t> known; ///< Of `firsts`.
  for (uint32_t i = 0; i != hashes.size(); ++i) {
    uint32_t c = 0;
    while (c != known.size() &&
           (known[c] != hashes[i] ||
            !std::ranges::equal(line(firsts[c]), line(i)))) {
      ++c;
    }
    classes.push_back(c);
    if (c == known.size()) {
      firsts.push_back(i);
      known.push_back(hashes[i]);
    }
  }
  if (firsts.size() == hashes.size()) {
    classes.clear();
  }
}

/// Of a row: four chains, so that none waits for the other.
static uint64_t hashOf(std::span<const double> row) {
  uint64_t hashes[4] = {};
  size_t i = 0;
  for (; i + 4 <= row.size(); i += 4) {
    for (size_t lane = 0; lane != 4; ++lane) {
      hashes[lane] = mixHash(hashes[lane], row[i + lane]);
    }
  }
  for (; i != row.size(); ++i) {
    hashes[0] = mixHash(hashes[0], row[i]);
  }
  uint64_t hash = 0;
  for (uint64_t lane : hashes) {
    hash = mixHash(hash, std::bit_cast<double>(lane));
  }
  return hash;
}

/// Only rows and columns that differ are kept, in both orders, so that passes
/// in either direction read rows.
void Table::round() {
  std::vector<uint32_t> rowsThatDiffer, columnsThatDiffer;
  rowClass.clear();
  columnClass.clear();
  hard = false;
  auto row = [this](uint32_t i) {
    return std::span(exact).subspan(size_t(i) * columns, columns);
  };
  auto column = [this](uint32_t j) {
    return std::views::iota(uint32_t(0), rows) |
           std::views::transform([this, j](uint32_t i) { return at(i, j); });
  };
  std::vector<uint64_t> rowHashes, columnHashes(columns, 0);
  for (uint32_t i = 0; i != rows; ++i) {
    rowHashes.push_back(hashOf(row(i)));
    for (uint32_t j = 0; j != columns; ++j) {
      columnHashes[j] = mixHash(columnHashes[j], row(i)[j]);
    }
  }
  classify(rowHashes, row, rowsThatDiffer, rowClass);
  classify(columnHashes, column, columnsThatDiffer, columnClass);
  distinctRows = uint32_t(rowsThatDiffer.size());
  distinctColumns = uint32_t(columnsThatDiffer.size());
  uint32_t columnStride = padded(distinctColumns);
  uint32_t rowStride = padded(distinctRows);
  rounded.assign(size_t(distinctRows) * columnStride, float(kTop));
  transposed.assign(size_t(distinctColumns) * rowStride, float(kTop));
  for (uint32_t i = 0; i != distinctRows; ++i) {
    for (uint32_t j = 0; j != distinctColumns; ++j) {
      double cost = at(rowsThatDiffer[i], columnsThatDiffer[j]);
      rounded[size_t(i) * columnStride + j] = float(cost);
      transposed[size_t(j) * rowStride + i] = float(cost);
      hard |= cost >= kForbidden;
    }
  }
}

Amounts Amounts::of(std::vector<double> bytes) {
  Amounts amounts;
  amounts.least = *std::ranges::min_element(bytes);
  bool varies = false;
  for (double &use : bytes) {
    use -= amounts.least;
    varies |= use > 0;
  }
  if (varies) {
    amounts.more = SharedNumbers(std::move(bytes));
  }
  return amounts;
}

void addUsage(std::vector<Usage> &usages, uint32_t begin, uint32_t end,
              const Amounts &bytes, std::vector<double> &taken) {
  taken[begin] += bytes.least;
  taken[end] -= bytes.least;
  if (bytes.more.size() != 0) {
    usages.push_back({begin, end, bytes.more});
  }
}

int64_t CostGraph::numEntries() const {
  int64_t entries = 0;
  for (const Pair &pair : pairs) {
    const Table &table = *pair.table;
    entries += int64_t(table.distinctRows) * table.distinctColumns +
               table.rows + table.columns;
  }
  return entries;
}

void CostGraph::index() {
  pairsOf.assign(variables.size(), {});
  for (uint32_t p = 0; p != pairs.size(); ++p) {
    pairsOf[pairs[p].second].push_back(p);
  }
  for (uint32_t p = 0; p != pairs.size(); ++p) {
    pairsOf[pairs[p].first].push_back(p);
  }
}

double costOf(const CostGraph &graph, const Assignment &assignment) {
  double cost = graph.constant;
  for (size_t v = 0; v != assignment.size(); ++v) {
    cost += graph.variables[v].costs[assignment[v]];
  }
  for (const Pair &pair : graph.pairs) {
    cost += pair.table->at(assignment[pair.first], assignment[pair.second]);
  }
  return cost;
}

/// One sweep over time, however long usages live.
void excessOf(const CostGraph &graph, const Assignment &assignment,
              std::vector<double> &excess) {
  // Differences first, then sums; the last position takes what ends there.
  size_t count = graph.capacity.size();
  excess.assign(count + 1, 0);
  for (size_t v = 0; v != assignment.size(); ++v) {
    for (const Usage &usage : graph.variables[v].usages) {
      excess[usage.begin] += usage.usages[assignment[v]];
      excess[usage.end] -= usage.usages[assignment[v]];
    }
  }
  for (const Pair &pair : graph.pairs) {
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
    excess[t] = used - graph.capacity[t];
  }
  excess.pop_back();
}

Value valueOf(const CostGraph &graph, const Assignment &assignment) {
  Value value;
  value.cost = costOf(graph, assignment);
  std::vector<double> excess;
  excessOf(graph, assignment, excess);
  for (double over : excess) {
    value.excess += std::max(over, 0.0);
  }
  return value;
}

} // namespace divisi::search
