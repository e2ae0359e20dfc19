//===- Nest.cpp - Loops in which every tensor has its own strides ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"

#include <algorithm>

namespace divisi::rt {

Dims rowMajorStrides(const Dims &extents) {
  Dims strides(extents.size());
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= extents[d];
  }
  return strides;
}

Walk denseWalk(const TensorInfo &info) {
  return {0, rowMajorStrides(info.extents)};
}

bool addAffine(const CallSite &site, const Checks &checks, size_t operand,
               size_t dim, int64_t first, int64_t step, int64_t extent,
               Walk &walk) {
  const TensorInfo &info = site.operands[operand];
  int64_t stride = 1;
  for (size_t d = dim + 1; d < info.rank(); ++d) {
    stride *= info.extents[d];
  }
  if (extent > 0) {
    int64_t last = first + (extent - 1) * step;
    if (!checks.covers(operand, dim, std::min(first, last),
                       std::max(first, last) + 1)) {
      return false;
    }
    walk.base += (first - info.offset[dim]) * stride;
  }
  walk.strides.push_back(extent == 1 ? 0 : stride * step);
  return true;
}

bool broadcastWalk(const CallSite &site, const Checks &checks, size_t operand,
                   Walk &walk) {
  const TensorInfo &info = site.operands[operand];
  const TensorInfo &result = site.results[0];
  if (info.rank() > result.rank()) {
    return checks.fail("operand " + std::to_string(operand) +
                       " has a higher rank than the result");
  }
  size_t missing = result.rank() - info.rank();
  walk.strides.assign(missing, 0);
  for (size_t d = 0; d < info.rank(); ++d) {
    size_t to = d + missing;
    bool broadcasts = info.global[d] == 1;
    if (!broadcasts && info.global[d] != result.global[to]) {
      return checks.fail("operand " + std::to_string(operand) + " has shape " +
                         stringify(info.global) +
                         ", which does not broadcast to " +
                         stringify(result.global));
    }
    // A broadcast dimension is read at index 0 as often as the result asks.
    int64_t extent = result.extents[to];
    bool added = broadcasts
                     ? addAffine(site, checks, operand, d, 0, 0, extent, walk)
                     : addAffine(site, checks, operand, d, result.offset[to], 1,
                                 extent, walk);
    if (!added) {
      return false;
    }
  }
  return true;
}

bool isSameBox(const TensorInfo &a, const TensorInfo &b) {
  return a.extents == b.extents && a.offset == b.offset && a.global == b.global;
}

} // namespace divisi::rt
