//===- GridAttentionGradient.cpp - Attention's gradients in blocks --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridAttentionGradient.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cstdio>

using namespace divisi;
using namespace divisi::rt;

/// What a block shares without asking, in elements of 16 bits.
static constexpr int64_t sharedRoom = (48 << 10) / 2;

/// Whether tensor cores multiply `gradient`, whose tiles are known.
static bool fitsTensorCores(const GridAttentionGradient &gradient,
                            int64_t rows) {
  return (gradient.type == DType::F16 || gradient.type == DType::BF16) &&
         rows >= GridAttention::leastTensorQueries &&
         16 * gradient.columnTiles() <=
             GridAttentionGradient::mostTensorColumns &&
         gradient.comingElements() + gradient.ownElements() <= sharedRoom;
}

std::optional<GridAttentionGradient>
GridAttentionGradient::of(const CallSite &site) {
  if (site.op != "nn.attention_gradient" || site.region || hasFormats(site)) {
    return std::nullopt;
  }
  std::string ignored;
  GridAttentionGradient gradient;
  AttentionPlan &plan = gradient.plan;
  if (!makeAttentionPlan(site, Checks(site, ignored), plan)) {
    return std::nullopt;
  }
  gradient.type = site.operands[plan.places[Query]].type;
  gradient.result = site.results[0].type;
  bool isKnown = (typeBit(gradient.type) & Floats) != 0;
  if (!isKnown || std::min(plan.depth, plan.features) == 0 ||
      std::max(plan.depth, plan.features) > mostColumns) {
    return std::nullopt;
  }
  auto cut = [&](int64_t edge) {
    gradient.depthTiles = ceilDiv(plan.depth, edge);
    gradient.featureTiles = ceilDiv(plan.features, edge);
  };
  cut(16);
  // Of the whole tensor, so that all ranks have one kernel.
  int64_t rows = gradient.isOfQueries() ? plan.wholeQueries : plan.wholeKeys;
  gradient.usesTensorCores = fitsTensorCores(gradient, rows);
  if (!gradient.usesTensorCores) {
    cut(tile);
  }
  return gradient;
}

int64_t GridAttentionGradient::rows() const {
  if (usesTensorCores) {
    return GridAttention::tensorQueries;
  }
  int64_t tiles = type == DType::F64 ? 4 * columnTiles() : columnTiles();
  return tiles > 4 ? 1 : tiles > 2 ? 2 : 4;
}

int64_t GridAttentionGradient::comingElements() const {
  // Rows of the first product, those of the second one, and the columns of
  // those that are weighted.
  return tile * depthPitch() + (isOfValues() ? 0 : tile * featurePitch()) +
         16 * columnTiles() * GridAttention::valuePitch;
}

int64_t GridAttentionGradient::ownElements() const {
  return GridAttention::tensorQueries *
         (depthPitch() + (isOfValues() ? 0 : featurePitch()));
}

int64_t GridAttentionGradient::warps() const {
  return usesTensorCores
             ? std::min((sharedRoom - comingElements()) / ownElements(),
                        GridAttention::mostTensorWarps)
             : mostWarps;
}

std::string GridAttentionGradient::structure() const {
  char numbers[80]; // exactly
  std::snprintf(numbers, sizeof(numbers), "%a, cap %a", plan.scale,
                plan.softcap);
  static constexpr const char *names[] = {"queries", "keys", "values"};
  return "gradient by " + std::string(names[plan.of]) + " of " +
         std::string(stringify(type)) + " to " +
         std::string(stringify(result)) + ", tiles " +
         std::to_string(depthTiles) + " " + std::to_string(featureTiles) +
         (usesTensorCores ? ", tensor cores, " : ", ") + numbers +
         (plan.masksByBool ? ", flags"
          : plan.hasMask   ? ", biases"
                           : "");
}

GridLaunch GridAttentionGradient::launch() const {
  KeyBounds bounds = KeyBounds::of(plan);
  int64_t ofHead = isOfQueries() ? plan.extents[2] : plan.keys;
  int64_t used = std::clamp<int64_t>(ceilDiv(ofHead, rows()), 1, warps());
  int64_t tiles = ceilDiv(ofHead, used * rows());
  GridLaunch launch;
  launch.blockX = warpSize;
  launch.blockY = uint32_t(used);
  launch.gridX = blocksFor(tiles * plan.extents[0] * plan.resultHeads, 1);
  launch.pointers = {{int(pointerCount()) - 1}};
  for (size_t kind : kinds) {
    if (kind == Mask && !plan.hasMask) {
      continue;
    }
    DType own = kind == Mask && plan.masksByBool ? DType::Bool
                : kind == Lse || kind == Delta   ? sumType(type)
                                                 : type;
    launch.pointers.push_back(
        {int(plan.places[kind]), plan.bases[kind] * byteWidth(own)});
  }
  launch.numbers = {tiles,           plan.extents[0], plan.resultHeads,
                    plan.extents[2], plan.keys,       plan.depth,
                    plan.features,   plan.group,      plan.offsets[1],
                    plan.extents[1], plan.resultHead, bounds.first,
                    bounds.end};
  auto append = [&](const auto &strides, size_t count) {
    launch.numbers.insert(launch.numbers.end(), strides.begin(),
                          strides.begin() + long(count));
  };
  append(plan.resultStrides, 3);
  for (size_t kind : kinds) {
    append(plan.strides[kind], kind == Mask ? 4 : 3);
  }
  return launch;
}
