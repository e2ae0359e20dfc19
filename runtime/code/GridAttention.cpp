//===- GridAttention.cpp - Attention in blocks of threads -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridAttention.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cstdio>

using namespace divisi;
using namespace divisi::rt;

std::optional<GridAttention> GridAttention::of(const CallSite &site) {
  if (site.op != "nn.attention" || site.region || hasFormats(site)) {
    return std::nullopt;
  }
  std::string ignored;
  GridAttention attention;
  if (!makeAttentionPlan(site, Checks(site, ignored), attention.plan)) {
    return std::nullopt;
  }
  attention.type = site.operands[Query].type;
  int64_t features = site.results[0].global.back();
  bool isNarrow = attention.type == DType::F16 || attention.type == DType::BF16;
  if (isNarrow && features <= mostTensorFeatures &&
      attention.plan.depth <= mostTensorDepth &&
      attention.plan.wholeQueries >= leastTensorQueries) {
    attention.depthTiles = ceilDiv(attention.plan.depth, 16);
  }
  attention.featureTiles =
      ceilDiv(features, attention.usesTensorCores() ? 8 : tile);
  bool isKnown = (typeBit(attention.type) & Floats) != 0;
  return isKnown && features > 0 && features <= mostFeatures &&
                 attention.plan.depth > 0
             ? std::optional(attention)
             : std::nullopt;
}

std::string GridAttention::structure() const {
  char numbers[80]; // exactly
  std::snprintf(numbers, sizeof(numbers), "%a, cap %a", plan.scale,
                plan.softcap);
  const char *ending = plan.masksByBool ? ", flags"
                       : plan.hasMask   ? ", biases"
                       : masks()        ? ", bounds"
                                        : "";
  return "attend " + std::string(stringify(type)) + ", " +
         std::to_string(featureTiles) + " tiles, " +
         (usesTensorCores()
              ? "tensor cores, depth of " + std::to_string(depthTiles) + ", "
              : "") +
         numbers + (plan.makesNan ? ", nan" : "") + ending;
}

int64_t GridAttention::tensorWarps() const {
  // What a block has without asking, in elements, but for a flag of each warp.
  constexpr int64_t room = ((48 << 10) - 4 * mostTensorWarps) / 2;
  int64_t taken = tile * tensorPitch() + 8 * featureTiles * valuePitch;
  return std::min((room - taken) / (tensorQueries * tensorPitch()),
                  mostTensorWarps);
}

/// What is added to a query's number for the bound of its keys: that of
/// `position`, or, `isOpen`, more than there are.
static int64_t shiftOf(const AttentionPlan &plan, bool isOpen,
                       __int128 position, int64_t open) {
  constexpr __int128 most = maxExtent;
  position += plan.offsets[2];
  position += plan.positions.offset;
  return isOpen ? open : int64_t(std::clamp<__int128>(position, -most, most));
}

GridLaunch GridAttention::launch() const {
  const Positions &positions = plan.positions;
  int64_t rows = plan.extents[2];
  int64_t most = usesTensorCores() ? tensorWarps() : mostWarps;
  int64_t warps = std::clamp<int64_t>(ceilDiv(rows, queries()), 1, most);
  int64_t tiles = ceilDiv(rows, warps * queries());
  GridLaunch launch;
  launch.blockX = warpSize;
  launch.blockY = uint32_t(warps);
  launch.gridX = blocksFor(tiles * plan.extents[0] * plan.extents[1], 1);
  launch.pointers = {{plan.hasMask ? 4 : 3}};
  for (size_t operand = 0; operand < pointerCount() - 1; ++operand) {
    DType own = operand == Mask && plan.masksByBool ? DType::Bool : type;
    launch.pointers.push_back(
        {int(operand), plan.bases[operand] * byteWidth(own)});
  }
  launch.numbers = {
      tiles,
      plan.extents[0],
      plan.extents[1],
      plan.extents[2],
      plan.keys,
      plan.depth,
      plan.features,
      plan.group,
      plan.offsets[1],
      shiftOf(plan, positions.left < 0, -__int128(positions.left), -maxExtent),
      shiftOf(plan, positions.right < 0, __int128(positions.right) + 1,
              maxExtent)};
  auto add = [&](const auto &strides, size_t count) {
    launch.numbers.insert(launch.numbers.end(), strides.begin(),
                          strides.begin() + long(count));
  };
  add(plan.resultStrides, 3);
  add(plan.strides[Query], 3);
  add(plan.strides[Key], 3);
  add(plan.strides[Value], 3);
  add(plan.strides[Mask], 4);
  return launch;
}
