//===- OpCost.h - What an operator costs on a device ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roofline: an operator takes as long as its arithmetic at the rates that
// the device reaches (Arithmetic.h), on GPUs in whole tiles and waves
// (Tiles.h), or as moving its operands and results through memory, whichever is
// longer, and a launch.
// All of it follows from the loops and the split: the largest shard counts, so
// uneven splits cost what their slowest device does; of a grid whose weights
// give kinds of devices unequal shards, the kind that takes longest. A view of
// an operand costs nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_OPCOST_H
#define DIVISI_COST_OPCOST_H

#include "dialects/NN/NN.h"
#include "divisi/Cluster/GridPace.h"
#include "divisi/Layout/Loops.h"

#include <functional>

namespace divisi {

/// What the costs of an operator depend on beside its loops.
struct OpProfile {
  llvm::SmallVector<int64_t, 3> operands; ///< Bits per element, in memory.
  llvm::SmallVector<int64_t, 1> results;  ///< The same.
  Precision precision = Precision::F32;   ///< What it computes in.
  /// Whether nothing runs, as the result has an operand's bytes as they lie or
  /// is a constant; null: never.
  std::function<bool(const LoopNest &, const Grid &, const Split &)> isView;
};

/// The profile of `op`, of global or local types. It computes in what its
/// (last) result holds, and in f32 where a device knows no other rate.
OpProfile profileOf(nn::LoopInterface op);

/// Where an operator is fused with others (Fusion.h): by number, the operands
/// and results that its kernel has in registers.
struct FusedEnds {
  llvm::SmallVector<unsigned, 1> operands; ///< At most one by Fusion.h.
  llvm::SmallVector<unsigned, 1> results;  ///< With one user each.
};

/// Whether data says which parts of `operand` are read, as of a gather's table.
bool isTable(const LoopNest &nest, const TensorMap &operand);

/// The bytes of the largest box, on the positions of `part`, of a tensor of
/// `shape` in `layout`. The whole tensor has no more than an int64_t counts.
int64_t localBytes(const Grid &grid, const Layout &layout,
                   llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                   const GridPart &part = {});

/// The bytes that one device reads and writes. Of a table from which data
/// chooses rows (an indexed loop) no more is read than the results hold; a view
/// moves nothing, and what is fused does not cross memory.
int64_t movedBytes(const LoopNest &nest, const Grid &grid, const Split &split,
                   const OpProfile &profile, const FusedEnds &fused = {});

/// The time of one operator on the slowest device of the grid; 0 for a view.
/// One with a fused operand is launched by whoever makes that.
int64_t opNanoseconds(const LoopNest &nest, const Grid &grid,
                      const Split &split, const OpProfile &profile,
                      const GridPace &pace, const FusedEnds &fused = {});

/// What an operator takes, by which of the ends that could be fused are. The
/// ends of an operator are of different edges of a planning problem, so each of
/// them has a part of its own:
///
///   fused     all of them are
///   result    more, if the result is not: it is written
///   operand   more, if the operand is not: it is read, and there is a launch
///
/// `result` is what it is where the operand is fused, and `operand` where the
/// result is not. So the sum is the roofline, except of an operator that reads
/// its operand and has its result fused: with devices of one pace that is no
/// less, but for rounding, and more where arithmetic takes longer than moving
/// the other operands.
struct OpTime {
  int64_t fused = 0, result = 0, operand = 0; ///< Nanoseconds, at least 0.

  /// The sum, where `ends` are fused.
  int64_t with(const FusedEnds &ends) const {
    return fused + (ends.results.empty() ? result : 0) +
           (ends.operands.empty() ? operand : 0);
  }
};

/// Of one operator of which `fusible` could be fused; all 0 for a view.
OpTime opTime(const LoopNest &nest, const Grid &grid, const Split &split,
              const OpProfile &profile, const GridPace &pace,
              const FusedEnds &fusible);

} // namespace divisi

#endif // DIVISI_COST_OPCOST_H
