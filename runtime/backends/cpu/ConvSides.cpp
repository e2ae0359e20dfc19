//===- ConvSides.cpp - The tensors of a convolution -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/ConvSides.h"
#include "runtime/kernels/ConvBoxes.h"

namespace divisi::rt::cpu {

bool describeSides(const CallSite &site, ConvSides &sides) {
  std::optional<ConvBoxes> boxes = ConvBoxes::of(site);
  if (!boxes) {
    return false;
  }
  sides.before = boxes->before;
  sides.after = boxes->after;
  ConvBoxes::Side &weights = boxes->sides[1];
  int64_t perGroup = weights.extents[0] / boxes->groups;
  int64_t ofGroup = perGroup * weights.strides[0];
  weights.extents[0] = perGroup;
  // A gradient's weights begin with the result's channels.
  if (site.op != "nn.conv") {
    std::swap(weights.extents[0], weights.extents[1]);
    std::swap(weights.strides[0], weights.strides[1]);
  }
  if (boxes->groups > 1) {
    weights.extents.insert(weights.extents.begin(), boxes->groups);
    weights.strides.insert(weights.strides.begin(), ofGroup);
  }
  for (size_t i = 0; i < boxes->sides.size(); ++i) {
    const ConvBoxes::Side &side = boxes->sides[i];
    sides.given[i] = describe(side.extents, side.strides);
    sides.bases[i] = side.base;
    if (!sides.given[i]) {
      return false;
    }
  }
  return true;
}

} // namespace divisi::rt::cpu
