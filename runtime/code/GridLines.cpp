//===- GridLines.cpp - Lines in blocks of threads -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridLines.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

using namespace divisi;
using namespace divisi::rt;

static constexpr std::string_view sums[] = {"sum", "prod"};
static constexpr std::string_view ends[] = {"max", "min"};

std::optional<GridLines> GridLines::of(const CallSite &site, bool keepsAxis) {
  std::string ignored;
  Checks checks(site, ignored);
  int64_t axis = 0;
  if (site.region || hasFormats(site) || !checks.counts(1, 1) ||
      !checks.getInt("axis", 0, int64_t(site.operands[0].rank()) - 1, axis)) {
    return std::nullopt;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  auto along = size_t(axis);
  if ((typeBit(operand.type) & (Floats | Ints)) == 0 ||
      !checks.resultRank(0, operand.rank() - !keepsAxis) ||
      !checks.whole(0, along)) {
    return std::nullopt;
  }
  GridLines lines;
  Walk from;
  Dims strides = rowMajorStrides(result.extents);
  for (size_t d = 0, to = 0; d < operand.rank(); ++d) {
    if (d == along) {
      to += keepsAxis;
      continue;
    }
    if (!checks.resultExtent(to, operand.global[d]) ||
        !addAffine(site, checks, 0, d, result.offset[to], 1, result.extents[to],
                   from)) {
      return std::nullopt;
    }
    lines.extents.push_back(result.extents[to]);
    lines.toStrides.push_back(strides[to++]);
  }
  lines.type = operand.type;
  lines.fromStrides = from.strides;
  lines.base = from.base;
  lines.length = operand.global[along];
  lines.stepFrom = rowMajorStrides(operand.extents)[along];
  lines.stepTo = keepsAxis ? strides[along] : 1;
  lines.made = keepsAxis ? result.extents[along] : 1;
  bool isWhole = !keepsAxis || result.extents[along] == result.global[along];
  return isWhole ? std::optional(lines) : std::nullopt;
}

GridLaunch GridLines::launch() const {
  int64_t count = numElements(extents);
  GridLaunch launch = launchRows(count, length, true);
  launch.pointers = {{1}, {0, base * byteWidth(type)}};
  launch.numbers = {count, length, made, stepTo, stepFrom};
  for (const Dims *dims : {&extents, &toStrides, &fromStrides}) {
    launch.addNumbers(*dims);
  }
  return launch;
}

static std::string describe(const GridLines &lines) {
  return std::string(stringify(lines.type)) + ", " +
         std::to_string(lines.extents.size()) + " dims";
}

std::optional<GridCumulate> GridCumulate::of(const CallSite &site) {
  auto lines =
      site.op == "nn.cumulate" ? GridLines::of(site, true) : std::nullopt;
  std::string ignored;
  Checks checks(site, ignored);
  int64_t exclusive = 0, reverse = 0;
  size_t kind = 0;
  if (!lines || lines->made != lines->length ||
      !checks.resultType(0, lines->type) ||
      !checks.getInt("exclusive", 0, 1, exclusive) ||
      !checks.getInt("reverse", 0, 1, reverse) ||
      !checks.getChoice("kind", sums, kind)) {
    return std::nullopt;
  }
  return GridCumulate{*lines, kind == 1, exclusive != 0, reverse != 0};
}

std::string GridCumulate::structure() const {
  return std::string("cumulate ") + (isProduct ? "products of " : "sums of ") +
         describe(lines) + (exclusive ? ", exclusive" : "") +
         (reverse ? ", reverse" : "");
}

std::optional<GridPick> GridPick::of(const CallSite &site) {
  bool isOne = site.op == "nn.arg_reduce";
  auto lines = isOne || site.op == "nn.top_k" ? GridLines::of(site, !isOne)
                                              : std::nullopt;
  std::string ignored;
  Checks checks(site, ignored);
  if (!lines || !checks.resultType(0, DType::I64)) {
    return std::nullopt;
  }
  int64_t last = 0, k = 0, largest = 0;
  size_t end = 0;
  bool isKnown =
      isOne ? lines->length > 0 && checks.getInt("last", 0, 1, last) &&
                  checks.getChoice("kind", ends, end)
            : checks.getInt("k", 0, lines->length, k) && k == lines->made &&
                  checks.getInt("largest", 0, 1, largest);
  return isKnown
             ? std::optional(GridPick{*lines, isOne ? end == 0 : largest != 0,
                                      isOne, last != 0})
             : std::nullopt;
}

std::string GridPick::structure() const {
  return std::string("pick ") + (largest ? "largest" : "smallest") +
         (nanFirst ? ", nan first" : "") + (last ? ", last" : "") + " of " +
         describe(lines);
}
