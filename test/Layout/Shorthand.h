//===- Shorthand.h - Grids, layouts and splits from text --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of this room share.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_LAYOUT_SHORTHAND_H
#define DIVISI_TEST_LAYOUT_SHORTHAND_H

#include "divisi/Layout/Loops.h"
#include "divisi/Layout/Parse.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

namespace divisi::test {

inline Grid grid(llvm::StringRef text) {
  return llvm::cantFail(parseGrid(text));
}

inline Layout layout(llvm::StringRef text, const Grid &grid) {
  return llvm::cantFail(parseLayout(text, grid));
}

/// `m@x, n@y.z, carry sum@w in 1`, of loops and axes that there are.
inline Split split(llvm::StringRef text, const Grid &grid,
                   const LoopNest &nest) {
  Split split = Split::replicated(nest);
  for (llvm::StringRef part : llvm::split(text, ", ")) {
    if (part.empty()) {
      continue;
    }
    auto [loop, where] = part.split('@');
    auto [names, set] = where.split(" in ");
    llvm::SmallVector<AxisId, 2> axes;
    for (llvm::StringRef name : llvm::split(names, '.')) {
      axes.push_back(grid.find(name).value());
    }
    if (loop == "carry sum") {
      split.carryAxes = axes;
      set.getAsInteger(10, split.carrySet);
    } else {
      split.loopAxes[nest.find(loop).value().index] = axes;
    }
  }
  return split;
}

inline std::string str(const Split &split, const Grid &grid,
                       const LoopNest &nest) {
  std::string text;
  llvm::raw_string_ostream os(text);
  split.print(os, grid, nest);
  return text;
}

/// "mk,kn->mn".
inline LoopNest matmul(int64_t m, int64_t n, int64_t k) {
  LoopNest nest;
  LoopId loopM = nest.add("m", m), loopN = nest.add("n", n),
         loopK = nest.add("k", k, LoopKind::Reduction);
  auto dims = [](LoopId a, LoopId b) {
    return llvm::SmallVector<DimMap, 4>{DimMap::loop(a), DimMap::loop(b)};
  };
  nest.operands = {{dims(loopM, loopK), {m, k}}, {dims(loopK, loopN), {k, n}}};
  nest.results = {{dims(loopM, loopN), {m, n}}};
  nest.linear = {{0}, {1}};
  nest.flopsPerPoint = 2;
  return nest;
}

/// One operand of the given dimensions, one result with a dimension per loop.
inline LoopNest oneToOne(llvm::ArrayRef<Loop> loops,
                         llvm::ArrayRef<DimMap> dims,
                         llvm::ArrayRef<int64_t> shape) {
  LoopNest nest;
  nest.loops.append(loops.begin(), loops.end());
  nest.operands.emplace_back();
  nest.operands[0].dims.append(dims.begin(), dims.end());
  nest.operands[0].shape.append(shape.begin(), shape.end());
  nest.results.emplace_back();
  for (uint32_t index = 0; index < loops.size(); ++index) {
    nest.results[0].dims.push_back(DimMap::loop({index}));
    nest.results[0].shape.push_back(loops[index].extent);
  }
  return nest;
}

} // namespace divisi::test

#endif // DIVISI_TEST_LAYOUT_SHORTHAND_H
