//===- Steps.h - The kinds of steps between layouts -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step changes how one tensor lies on one grid. It is one collective, or one
// local move:
//
//   [x, *] partial sum {y}  ->  [x, y]       reduce_scatter y into dim 1
//   [*, x]                  ->  [x, *]       all_to_all x from dim 1 to dim 0
//   [x]                     ->  [x{0:5,3:8}] exchange x in dim 0 (a halo)
//
// The collectives of `spmd` are these kinds, and their verifiers ask
// verifyStep. What each kind can do stands in StepRules.h.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_STEPS_H
#define DIVISI_LAYOUT_STEPS_H

#include "divisi/Layout/Layout.h"

namespace divisi {

/// What a step does to a tensor.
enum class StepKind : uint8_t {
  Slice,         ///< Local: replicated axes come to split a dimension.
  Mask,          ///< Local: replicated axes become partial sum; all but the
                 ///< first position along them hold zeros.
  AllGather,     ///< Axes stop splitting a dimension.
  AllToAll,      ///< Axes move from one dimension to another.
  AllReduce,     ///< Partial axes become replicated.
  ReduceScatter, ///< Partial axes come to split a dimension.
  Exchange,      ///< Every position fetches its new box from the owners; any
                 ///< two layouts without (or with the same) partial axes.
};
/// `slice`, `mask`, `all_gather`, ...: the mnemonic of the op in `spmd`.
llvm::StringRef stringifyStepKind(StepKind kind);
/// The kind of that mnemonic; nothing if there is none.
std::optional<StepKind> parseStepKind(llvm::StringRef name);

/// Whether `kind` can lead from layout `from` to layout `to` over `axes`: what
/// the verifiers of the collectives in `spmd` ask. Returns the reason if not.
std::optional<std::string>
verifyStep(const Grid &grid, llvm::ArrayRef<int64_t> shape, StepKind kind,
           llvm::ArrayRef<AxisId> axes, const Layout &from, const Layout &to);

} // namespace divisi

#endif // DIVISI_LAYOUT_STEPS_H
