//===- KindMemory.h - What devices of one kind may hold ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kind of devices whose parts are its own is a resource of the problem:
//
//   (x=4:[5,5,2,2])    a100  limit 80 GB  usages of the boxes at x=0, x=1
//                      v100  limit 16 GB  usages of the boxes at x=2, x=3
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_KINDMEMORY_H
#define DIVISI_LIB_PLAN_KINDMEMORY_H

#include "divisi/Layout/Layout.h"
#include "divisi/Search/Problem.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi::plan {

/// The memory of the devices of one kind.
struct KindMemory {
  std::string kind;             ///< Its name; empty where there is one alone.
  std::optional<int64_t> limit; ///< Bytes of one device.
  /// Where the devices stand.
  llvm::SmallVector<GridPart, 1> positions = {GridPart()};

  /// The bytes of the largest box of a tensor there.
  int64_t localBytes(const Grid &grid, const Layout &layout,
                     llvm::ArrayRef<int64_t> shape, int64_t elementBits) const;
};

/// All kinds of a grid, by resource of the problem; at least one.
using KindMemories = std::vector<KindMemory>;

/// The peak of each resource.
std::vector<int64_t> peaksOf(const search::Solution &solution);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_KINDMEMORY_H
