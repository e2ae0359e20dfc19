//===- GridReduce.cpp - Reductions in blocks of threads -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridReduce.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

static constexpr std::string_view kinds[] = {"sum", "prod", "max",
                                             "min", "and",  "or"};

/// Whether elements of `type` are reduced so.
static bool takes(GridReduce::Kind kind, DType type) {
  using enum GridReduce::Kind;
  unsigned known = kind == And || kind == Or     ? Bools
                   : kind == Sum || kind == Prod ? Numbers
                                                 : Comparable;
  return (typeBit(type) & known) != 0 && type != DType::Field;
}

/// The part of `site` along dimension `d` of the operand, which is dimension
/// `to` of the result or, -1, reduced.
static bool addDim(const CallSite &site, const Checks &checks, size_t d,
                   int64_t to, GridReduce &reduce) {
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  int64_t stride = stridesOf(operand)[d], extent = operand.extents[d];
  if (to >= 0) {
    auto at = static_cast<size_t>(to);
    int64_t first = result.offset[at];
    if (!checks.resultExtent(at, operand.global[d]) ||
        !checks.covers(0, d, first, first + result.extents[at])) {
      return false;
    }
    reduce.fromBase += (first - operand.offset[d]) * stride;
    reduce.keptExtents.push_back(result.extents[at]);
    reduce.toStrides.push_back(stridesOf(result)[at]);
    reduce.fromStrides.push_back(stride);
    return true;
  }
  reduce.reducedExtents.push_back(extent);
  reduce.reducedStrides.push_back(stride);
  return true;
}

/// Lets one index count two dimensions that are stored one inside the other:
/// all of both is reduced, on every rank.
static void joinLast(GridReduce &reduce) {
  reduce.reducedStrides.erase(reduce.reducedStrides.end() - 2);
  int64_t inner = reduce.reducedExtents.back();
  reduce.reducedExtents.pop_back();
  reduce.reducedExtents.back() *= inner;
}

std::optional<GridReduce> GridReduce::of(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  size_t kind = 0;
  Dims axes;
  if (site.op != "nn.reduce" || site.region || !isPlainOrChannelsLast(site) ||
      !checks.counts(1, 1) || !checks.sumType(0) ||
      !checks.getChoice("kind", kinds, kind) ||
      !checks.getDims("axes", site.operands[0].rank(), axes) ||
      !checks.resultRank(0, site.operands[0].rank() - axes.size())) {
    return std::nullopt;
  }
  const TensorInfo &operand = site.operands[0];
  GridReduce reduce{static_cast<Kind>(kind), operand.type, site.results[0].type,
                    false};
  if (!takes(reduce.kind, operand.type)) {
    return std::nullopt;
  }
  bool wasReduced = false;
  for (int64_t dim : storedOrder(operand)) {
    auto before = std::ranges::lower_bound(axes, dim);
    bool isReduced = before != axes.end() && *before == dim;
    int64_t to = isReduced ? -1 : dim - (before - axes.begin());
    if (!addDim(site, checks, static_cast<size_t>(dim), to, reduce)) {
      return std::nullopt;
    }
    if (isReduced && wasReduced) {
      joinLast(reduce);
    }
    wasReduced = isReduced;
  }
  reduce.isAlongRow = wasReduced;
  return reduce;
}

std::string GridReduce::structure() const {
  return "reduce " + std::string(kinds[static_cast<size_t>(kind)]) + " of " +
         std::string(stringify(from)) + " to " + std::string(stringify(to)) +
         ", " + std::to_string(keptExtents.size()) + " kept, " +
         std::to_string(reducedExtents.size()) + " reduced" +
         (isAlongRow ? ", along rows" : "");
}

GridLaunch GridReduce::launch() const {
  int64_t results = numElements(keptExtents);
  int64_t count = numElements(reducedExtents);
  GridLaunch launch;
  if (isAlongRow) {
    launch = launchRows(results, count, true);
  } else {
    launch.blockX = columns;
    launch.blockY = parts;
    launch.gridX = blocksFor(results, columns);
  }
  launch.pointers = {{1}, {0, fromBase * byteWidth(from)}};
  launch.numbers = {results, count};
  for (const Dims *dims : {&keptExtents, &toStrides, &fromStrides,
                           &reducedExtents, &reducedStrides}) {
    launch.numbers.insert(launch.numbers.end(), dims->begin(), dims->end());
  }
  return launch;
}
