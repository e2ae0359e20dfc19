//===- GridProduct.cpp - Products in blocks of threads --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridProduct.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/kernels/Element.h"
#include "runtime/kernels/Formats.h"
#include "runtime/kernels/Integer.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

std::optional<GridProduct> GridProduct::of(const CallSite &site) {
  bool hasCodes = site.op == "nn.matmul_integer";
  if ((!hasCodes && site.op != "nn.matmul") || site.region ||
      site.operands.size() < 2 || site.results.size() != 1 ||
      hasFormats(site)) {
    return std::nullopt;
  }
  std::string ignored;
  GridProduct product;
  product.hasCodes = hasCodes;
  if (hasCodes) {
    WideCall wide(site);
    if (!checkCodes(site, wide, Checks(site, ignored), product.zeros) ||
        !analyzeContraction(wide.site, Checks(wide.site, ignored),
                            product.contraction)) {
      return std::nullopt;
    }
    product.hasZero = site.operands.size() > 2;
  } else if (!analyzeContraction(site, Checks(site, ignored),
                                 product.contraction)) {
    return std::nullopt;
  }
  // Which operand is the left one is the same for all ranks.
  if (product.contraction.swapped) {
    product.contraction.swapped = false;
    product.contraction.exchange();
  }
  product.types = {site.operands[0].type, site.operands[1].type};
  product.to = site.results[0].type;
  bool isKnown = (typeBit(product.types[0]) & (Floats | Ints)) != 0;
  return isKnown ? std::optional(product) : std::nullopt;
}

std::array<GridProduct::Loops, 4> GridProduct::loops() const {
  return {{{&contraction.batch, {true, true, true}},
           {&contraction.m, {true, false, true}},
           {&contraction.n, {false, true, true}},
           {&contraction.k, {true, true, false}}}};
}

std::string GridProduct::structure() const {
  std::string text = "multiply " + std::string(stringify(types[0])) + " by " +
                     std::string(stringify(types[1])) + " to " +
                     std::string(stringify(to)) + ", loops";
  for (const Loops &own : loops()) {
    text += " " + std::to_string(own.group->extents.size());
  }
  return text + (hasZero ? ", a zero point" : "");
}

size_t GridProduct::numberCount() const {
  size_t count = numNumbers + (hasCodes ? 2 : 0);
  for (const Loops &own : loops()) {
    count += own.group->extents.size() *
             size_t(1 + std::ranges::count(own.isIn, true));
  }
  return count;
}

GridLaunch GridProduct::launch() const {
  int64_t rows = contraction.m.count(), columns = contraction.n.count();
  int64_t across = ceilDiv(columns, square), down = ceilDiv(rows, square);
  int64_t squares = contraction.batch.count() * across * down;
  GridLaunch launch;
  launch.blockX = uint32_t(square);
  launch.blockY = uint32_t(rowsAtOnce);
  launch.gridX = blocksFor(squares, 1);
  launch.pointers = {{hasZero ? 3 : 2, contraction.bases[2] * byteWidth(to)}};
  for (size_t operand = 0; operand < 2; ++operand) {
    launch.pointers.push_back(
        {int(operand), contraction.bases[operand] * byteWidth(types[operand])});
  }
  if (hasZero) {
    launch.pointers.push_back({2});
  }
  launch.numbers = {squares, across,  down,
                    rows,    columns, contraction.k.count()};
  if (hasCodes) {
    launch.addNumbers({zeros[0], zeros[1]});
  }
  for (const Loops &own : loops()) {
    launch.addNumbers(own.group->extents);
    for (size_t t = 0; t < 3; ++t) {
      if (own.isIn[t]) {
        launch.addNumbers(own.group->strides[t]);
      }
    }
  }
  return launch;
}
