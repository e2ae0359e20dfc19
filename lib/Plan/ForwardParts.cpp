//===- ForwardParts.cpp - Parts of a forward pass -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardParts.h"

#include "UsageProfile.h"

#include <cmath>

namespace divisi::plan {

std::vector<unsigned> forwardParts(const std::vector<MadeValue> &values) {
  if (values.empty()) {
    return {};
  }
  UsageProfile alive(size_t(values.back().made) + 2);
  double bytes = 0;
  for (const MadeValue &value : values) {
    bytes += double(value.bytes);
    alive.add(value.made, value.last, value.isOfBatch ? 1 : 0);
  }
  std::vector<int64_t> living = alive.sums();
  // Until the next value is made.
  std::vector<int64_t> fewest;
  for (auto [number, value] : llvm::enumerate(values)) {
    int64_t next =
        number + 1 == values.size() ? value.made + 1 : values[number + 1].made;
    auto begin = living.begin() + value.made;
    fewest.push_back(*std::min_element(
        begin, begin + std::max<int64_t>(next - value.made, 1)));
  }
  std::vector<int64_t> sorted = fewest;
  llvm::sort(sorted);
  int64_t few = sorted[sorted.size() / 5];
  double least = bytes / (2 * std::sqrt(double(values.size())));
  std::vector<unsigned> parts;
  unsigned part = 0;
  double sum = 0;
  for (auto [number, value] : llvm::enumerate(values)) {
    parts.push_back(part);
    sum += double(value.bytes);
    if (sum >= least && fewest[number] <= few) {
      ++part;
      sum = 0;
    }
  }
  return parts;
}

} // namespace divisi::plan
