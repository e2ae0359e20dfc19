//===- Segments.h - Parts of a program, each a program ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A large program is searched part by part. It is cut where few values are
// alive, so that few places of rules are cut through; parts that are alike, as
// the layers of a transformer are, are searched once.
//
// A part is taken out as a module of its own: what it computes is @forward,
// whose arguments are the values that come in, weights are globals without
// bytes, numbered in the order in which they are first read, and the location
// of an operator is its number. So parts that are alike are equal modules, and
// what was made of one can stand in the place of each.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_OPTIMIZE_SEGMENTS_H
#define DIVISI_OPTIMIZE_SEGMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divisi::nn {
class KnownValues;
} // namespace divisi::nn

namespace divisi::optimize {

/// Operators that are computed in each run, one after the other in a block,
/// with nothing between them but what weights and constants make.
using Segment = std::vector<mlir::Operation *>;

/// How long segments may be.
struct SegmentSizes {
  size_t least = 6;   ///< Operators, but for the last before something else.
  size_t most = 64;   ///< Operators.
  size_t skipped = 0; ///< So many at the beginning are of a segment of theirs.
};

/// All operators of `body` that may be rewritten, in segments.
std::vector<Segment> cutIntoSegments(mlir::Block &body,
                                     const nn::KnownValues &known,
                                     SegmentSizes sizes);

/// A segment as a program.
struct TakenOut {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< With @forward.
  std::vector<mlir::Value> inputs;          ///< What its arguments are.
  std::vector<mlir::Value> outputs;         ///< What its results are.
  std::vector<std::string> globals;         ///< What its globals are.
  std::string key; ///< Equal of segments that compute the same.
};

/// Copies `segment` into a module of its own, in the same context.
TakenOut takeOut(const Segment &segment, const nn::KnownValues &known);

/// The function of a segment that was taken out.
mlir::func::FuncOp functionOf(mlir::ModuleOp module);

/// Of a segment that was taken out: the number of the operator in it that a
/// location is of; nothing for another location.
std::optional<size_t> numberOf(mlir::Location location);

/// Puts `program`, made of what `taken` or one alike was, in the place of
/// `segment`: copies its operators, each with location and scope of the
/// operator of the segment in whose place it is.
void putBack(mlir::ModuleOp program, const TakenOut &taken,
             const Segment &segment);

/// A key of what a function computes, which does not depend on the order of its
/// operators. Of all programs of one context; another process has other keys.
uint64_t fingerprint(mlir::func::FuncOp function);

} // namespace divisi::optimize

#endif // DIVISI_OPTIMIZE_SEGMENTS_H
