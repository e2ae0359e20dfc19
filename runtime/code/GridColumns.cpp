//===- GridColumns.cpp - Lines that lie across, by threads ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridColumns.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cstdio>

using namespace divisi;
using namespace divisi::rt;

/// The axes of a line, and what is done with it; false if that is not said.
static bool readLine(const CallSite &site, const Checks &checks,
                     GridColumns &made, Dims &axes) {
  auto rank = int64_t(site.operands[0].rank());
  int64_t axis = 0, log = 0, center = 0;
  made.isSoftmax = site.op == "nn.softmax";
  if (made.isSoftmax) {
    bool isRead = checks.getInt("axis", 0, rank - 1, axis) &&
                  checks.getInt("log", 0, 1, log);
    axes = {axis};
    made.isLog = log != 0;
    return isRead;
  }
  bool isRead = checks.getDims("axes", size_t(rank), axes) &&
                checks.getInt("center", 0, 1, center) &&
                checks.getFloat("epsilon", made.epsilon);
  made.centers = center != 0;
  return isRead;
}

std::optional<GridColumns> GridColumns::of(const CallSite &site) {
  std::string ignored;
  Checks checks(site, ignored);
  GridColumns made;
  Dims axes;
  if (!findRowOperator(site.op) || site.region || !checks.counts(1, 1) ||
      hasFormats(site) || (typeBit(site.operands[0].type) & Floats) == 0 ||
      !checks.resultType(0, site.operands[0].type) ||
      !checks.resultRank(0, site.operands[0].rank()) ||
      !readLine(site, checks, made, axes) || RowCall::of(site)) {
    return std::nullopt;
  }
  const TensorInfo &operand = site.operands[0], &result = site.results[0];
  Dims to = rowMajorStrides(result.extents),
       from = rowMajorStrides(operand.extents);
  made.type = operand.type;
  for (size_t d = 0; d < result.rank(); ++d) {
    bool isOfLine = std::ranges::count(axes, int64_t(d)) != 0;
    int64_t first = result.offset[d], extent = result.extents[d];
    if (!checks.resultExtent(d, operand.global[d]) ||
        !checks.covers(0, d, first, first + extent) ||
        (isOfLine && extent != result.global[d])) {
      return std::nullopt;
    }
    made.base += (first - operand.offset[d]) * from[d];
    (isOfLine ? made.lineExtents : made.extents).push_back(extent);
    (isOfLine ? made.toLineStrides : made.toStrides).push_back(to[d]);
    (isOfLine ? made.fromLineStrides : made.fromStrides).push_back(from[d]);
  }
  return made;
}

std::string GridColumns::structure() const {
  char text[40]; // exactly
  std::snprintf(text, sizeof(text), ", epsilon %a", epsilon);
  return std::string(isSoftmax ? isLog ? "log softmax " : "softmax "
                     : centers ? "normalize "
                               : "scale ") +
         std::string(stringify(type)) + " across, " +
         std::to_string(extents.size()) + " dims, " +
         std::to_string(lineExtents.size()) + " of lines" +
         (isSoftmax ? "" : text);
}

GridLaunch GridColumns::launch() const {
  int64_t lines = numElements(extents);
  GridLaunch launch;
  launch.blockX = columns;
  launch.blockY = parts;
  launch.gridX = blocksFor(lines, columns);
  launch.pointers = {{1}, {0, base * byteWidth(type)}};
  launch.numbers = {lines, numElements(lineExtents)};
  for (const Dims *dims : {&extents, &toStrides, &fromStrides, &lineExtents,
                           &toLineStrides, &fromLineStrides}) {
    launch.addNumbers(*dims);
  }
  return launch;
}
