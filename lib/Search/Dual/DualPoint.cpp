//===- DualPoint.cpp - Prices and messages that give a bound --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DualPoint.h"

#include <algorithm>

namespace divisi::search {

/// Where the messages of each pair begin, in the order of Messages::save();
/// the last is their number.
static std::vector<uint32_t> layOut(const CostGraph &graph) {
  std::vector<uint32_t> begins{0};
  for (const Pair &pair : graph.pairs) {
    begins.push_back(begins.back() + pair.table->rows);
  }
  return begins;
}

/// Calls `copy` with the positions of each message's value in whole and part.
template <typename Copy>
static void forEachMessage(const CostGraph &graph, const SubGraph &sub,
                           Copy copy) {
  std::vector<uint32_t> whole = layOut(graph);
  uint32_t to = 0;
  for (size_t p = 0; p != sub.pairOf.size(); ++p) {
    for (uint32_t state : sub.states[sub.graph.pairs[p].first]) {
      copy(whole[sub.pairOf[p]] + state, to++);
    }
  }
}

DualPoint lower(const CostGraph &graph, const SubGraph &sub,
                const DualPoint &whole) {
  DualPoint part;
  part.prices.assign(sub.timeOf.size(), 0);
  for (size_t t = 0; t != whole.prices.size() && !sub.timeOf.empty(); ++t) {
    if (whole.prices[t] > 0) {
      size_t next =
          std::ranges::lower_bound(sub.timeOf, t) - sub.timeOf.begin();
      part.prices[std::min(next, sub.timeOf.size() - 1)] += whole.prices[t];
    }
  }
  part.messages.assign(layOut(sub.graph).back(), 0);
  if (!whole.messages.empty()) {
    forEachMessage(graph, sub, [&](uint32_t from, uint32_t to) {
      part.messages[to] = whole.messages[from];
    });
  }
  return part;
}

DualPoint lift(const CostGraph &graph, const SubGraph &sub,
               const DualPoint &part, DualPoint base) {
  base.bound = part.bound;
  base.prices.assign(graph.capacity.size(), 0);
  for (size_t t = 0; t != part.prices.size(); ++t) {
    base.prices[sub.timeOf[t]] = part.prices[t];
  }
  forEachMessage(graph, sub, [&](uint32_t to, uint32_t from) {
    base.messages[to] = part.messages[from];
  });
  return base;
}

} // namespace divisi::search
