//===- DualPoint.cpp - Points of the dual, of a model and its parts -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lagrangian.h"

#include <algorithm>

namespace divisi::search {

/// Calls `copy` with the positions of each message's value in whole and part.
template <typename Copy>
static void forEachMessage(const Model &model, const SubModel &sub, Copy copy) {
  MessageLayout whole(model), part(sub.model);
  for (size_t p = 0; p != sub.pairOf.size(); ++p) {
    const Pair &pair = sub.model.pairs[p];
    uint32_t parent = sub.pairOf[p];
    const std::vector<uint32_t> &first = sub.states[pair.first];
    const std::vector<uint32_t> &second = sub.states[pair.second];
    for (uint32_t s = 0; s != first.size(); ++s) {
      copy(whole.first[parent] + first[s], part.first[p] + s);
    }
    for (uint32_t s = 0; s != second.size(); ++s) {
      copy(whole.second[parent] + second[s], part.second[p] + s);
    }
  }
}

DualPoint lower(const Model &model, const SubModel &sub,
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
  part.messages.assign(MessageLayout(sub.model).first.back(), 0);
  if (!whole.messages.empty()) {
    forEachMessage(model, sub, [&](uint32_t from, uint32_t to) {
      part.messages[to] = whole.messages[from];
    });
  }
  return part;
}

DualPoint lift(const Model &model, const SubModel &sub, const DualPoint &part,
               DualPoint base) {
  base.bound = part.bound;
  base.prices.assign(model.capacity.size(), 0);
  for (size_t t = 0; t != part.prices.size(); ++t) {
    base.prices[sub.timeOf[t]] = part.prices[t];
  }
  forEachMessage(model, sub, [&](uint32_t to, uint32_t from) {
    base.messages[to] = part.messages[from];
  });
  return base;
}

} // namespace divisi::search
