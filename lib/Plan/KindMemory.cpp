//===- KindMemory.cpp - What devices of one kind may hold -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KindMemory.h"

#include "divisi/Cost/OpCost.h"

namespace divisi::plan {

int64_t KindMemory::localBytes(const Grid &grid, const Layout &layout,
                               llvm::ArrayRef<int64_t> shape,
                               int64_t elementBits) const {
  int64_t most = 0;
  for (const GridPart &part : positions) {
    most = std::max(most,
                    divisi::localBytes(grid, layout, shape, elementBits, part));
  }
  return most;
}

std::vector<int64_t> peaksOf(const search::Solution &solution) {
  std::vector<int64_t> peaks = {int64_t(solution.peak)};
  for (const search::Peak &more : solution.morePeaks) {
    peaks.push_back(int64_t(more.usage));
  }
  return peaks;
}

} // namespace divisi::plan
