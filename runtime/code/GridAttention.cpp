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
  bool makesLse = site.op == "nn.attention_lse";
  if ((site.op != "nn.attention" && !makesLse) || site.region ||
      hasFormats(site)) {
    return std::nullopt;
  }
  std::string ignored;
  GridAttention attention;
  attention.makesLse = makesLse;
  if (!makeAttentionPlan(site, Checks(site, ignored), attention.plan)) {
    return std::nullopt;
  }
  attention.type = site.operands[Query].type;
  int64_t features = makesLse ? 0 : site.results[0].global.back();
  bool isNarrow = attention.type == DType::F16 || attention.type == DType::BF16;
  if (isNarrow && features <= mostTensorFeatures &&
      attention.plan.depth <= mostTensorDepth &&
      attention.plan.wholeQueries >= leastTensorQueries) {
    attention.depthTiles = ceilDiv(attention.plan.depth, 16);
  }
  attention.featureTiles =
      ceilDiv(features, attention.usesTensorCores() ? 8 : tile);
  bool isKnown = (typeBit(attention.type) & Floats) != 0;
  return isKnown && (makesLse || features > 0) && features <= mostFeatures &&
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
  return (makesLse ? "logarithm of " : "attend ") +
         std::string(stringify(type)) + ", " + std::to_string(featureTiles) +
         " tiles, " +
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

KeyBounds KeyBounds::of(const AttentionPlan &plan) {
  auto clamp = [&](__int128 shift) {
    constexpr __int128 most = maxExtent;
    shift += plan.offsets[2];
    shift += plan.positions.offset;
    shift -= plan.firstKey;
    return int64_t(std::clamp<__int128>(shift, -most, most));
  };
  auto [left, right, offset] = plan.positions;
  return {left < 0 ? -maxExtent : clamp(-__int128(left)),
          right < 0 ? maxExtent : clamp(__int128(right) + 1)};
}

GridLaunch GridAttention::launch() const {
  KeyBounds bounds = KeyBounds::of(plan);
  int64_t rows = plan.extents[2];
  int64_t most = usesTensorCores() ? tensorWarps() : mostWarps;
  int64_t warps = std::clamp<int64_t>(ceilDiv(rows, queries()), 1, most);
  int64_t tiles = ceilDiv(rows, warps * queries());
  GridLaunch launch;
  launch.blockX = warpSize;
  launch.blockY = uint32_t(warps);
  launch.gridX = blocksFor(tiles * plan.extents[0] * plan.extents[1], 1);
  launch.pointers = {{int(pointerCount()) - 1}};
  for (size_t kind : {Query, Key, Value, Mask}) {
    bool isThere = kind == Mask    ? plan.hasMask
                   : kind == Value ? !makesLse
                                   : true;
    if (isThere) {
      DType own = kind == Mask && plan.masksByBool ? DType::Bool : type;
      launch.pointers.push_back(
          {int(plan.places[kind]), plan.bases[kind] * byteWidth(own)});
    }
  }
  launch.numbers = {tiles,           plan.extents[0], plan.extents[1],
                    plan.extents[2], plan.keys,       plan.depth,
                    plan.features,   plan.group,      plan.offsets[1],
                    bounds.first,    bounds.end};
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
