//===- GridPlaces.cpp - Values of places, by threads ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridPlaces.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

std::optional<GridIota> GridIota::of(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  int64_t axis = 0;
  if (site.op != "nn.iota" || site.region || hasFormats(site) ||
      !checks.counts(0, 1) ||
      !checks.getInt("axis", 0, int64_t(site.results[0].rank()) - 1, axis) ||
      (typeBit(site.results[0].type) & (Floats | Ints)) == 0) {
    return std::nullopt;
  }
  const TensorInfo &result = site.results[0];
  auto along = size_t(axis);
  return GridIota{result.type, result.count(),
                  rowMajorStrides(result.extents)[along], result.extents[along],
                  result.offset[along]};
}

std::string GridIota::structure() const {
  return "iota " + std::string(stringify(type));
}

GridLaunch GridIota::launch() const {
  GridLaunch launch = launchElements(count);
  launch.pointers = {{0}};
  launch.numbers = {count, inner, extent, first};
  return launch;
}

/// Where operand `i` is read along all dimensions but the last one.
static bool addRows(const CallSite &site, const Checks &checks, size_t i,
                    GridRotary &rotary) {
  const TensorInfo &info = site.operands[i], &y = site.results[0];
  if (!checks.operandType(i, y.type) || !checks.operandRank(i, y.rank())) {
    return false;
  }
  Walk walk;
  for (size_t d = 0; d + 1 < y.rank(); ++d) {
    bool broadcasts = i > 0 && info.global[d] == 1;
    if ((!broadcasts && !checks.resultExtent(d, info.global[d])) ||
        !addAffine(site, checks, i, d, broadcasts ? 0 : y.offset[d],
                   broadcasts ? 0 : 1, y.extents[d], walk)) {
      return false;
    }
  }
  rotary.strides[i] = walk.strides;
  rotary.strides[i].push_back(0);
  rotary.bases[i] = walk.base;
  rotary.firsts[i + 1] = info.offset.back();
  return true;
}

/// Whether the boxes have the partners of all elements, and their angles.
static bool hasPairs(const CallSite &site, const Checks &checks,
                     const GridRotary &rotary) {
  size_t dim = site.results[0].rank() - 1;
  int64_t first = rotary.firsts[0], angles = rotary.angles;
  for (int64_t j = first; j < first + site.results[0].extents.back(); ++j) {
    bool isRotated = j < 2 * angles;
    int64_t partner = rotary.interleaved ? j ^ 1
                      : j < angles       ? j + angles
                                         : j - angles;
    int64_t angle =
        rotary.interleaved ? j / 2 : j % std::max<int64_t>(angles, 1);
    if (!checks.covers(0, dim, j, j + 1) ||
        (isRotated && !(checks.covers(0, dim, partner, partner + 1) &&
                        checks.covers(1, dim, angle, angle + 1) &&
                        checks.covers(2, dim, angle, angle + 1)))) {
      return false;
    }
  }
  return true;
}

std::optional<GridRotary> GridRotary::of(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  int64_t interleaved = 0;
  if (site.op != "nn.rotary" || site.region || hasFormats(site) ||
      !checks.counts(3, 1) || site.results[0].rank() == 0 ||
      !checks.getInt("interleaved", 0, 1, interleaved) ||
      (typeBit(site.results[0].type) & Floats) == 0) {
    return std::nullopt;
  }
  const TensorInfo &y = site.results[0];
  GridRotary rotary;
  rotary.type = y.type;
  rotary.interleaved = interleaved != 0;
  rotary.extents = y.extents;
  rotary.firsts[0] = y.offset.back();
  for (size_t i = 0; i < 3; ++i) {
    if (!addRows(site, checks, i, rotary)) {
      return std::nullopt;
    }
  }
  rotary.angles = site.operands[1].global.back();
  bool fits =
      site.operands[2].global.back() == rotary.angles &&
      rotary.angles <= y.global.back() / 2 &&
      checks.resultExtent(y.rank() - 1, site.operands[0].global.back()) &&
      hasPairs(site, checks, rotary);
  return fits ? std::optional(rotary) : std::nullopt;
}

std::string GridRotary::structure() const {
  return "rotate " + std::string(stringify(type)) + ", " +
         std::to_string(extents.size()) + " dims" +
         (interleaved ? ", interleaved" : "");
}

GridLaunch GridRotary::launch() const {
  int64_t count = numElements(extents);
  GridLaunch launch = launchElements(count);
  launch.pointers = {{3}};
  launch.numbers = {count};
  launch.addNumbers(extents);
  for (size_t i = 0; i < 3; ++i) {
    launch.pointers.push_back({int(i), bases[i] * byteWidth(type)});
    launch.addNumbers(strides[i]);
  }
  launch.addNumbers({angles, firsts[0], firsts[1], firsts[2], firsts[3]});
  return launch;
}
