//===- LayoutSyntax.h - Grids and layouts as text in IR ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The syntax of Grid::print and Layout::print, read by MLIR's parser:
//
//   (x=2, y=4)      [x.y, *, z{0:5, 3:8}] partial sum {w}
//
// and splits by names, which are read without it, too: `m@x.y, carry sum@z`.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_SPMD_LAYOUTSYNTAX_H
#define DIVISI_DIALECTS_SPMD_LAYOUTSYNTAX_H

#include "dialects/SPMD/NamedSplit.h"
#include "divisi/Layout/Layout.h"
#include "mlir/IR/OpImplementation.h"

namespace divisi::spmd {

/// The most positions that a grid may have.
inline constexpr int64_t kMaxPositions = 4096;

/// Whether `name` can be printed and read back as an axis or loop:
/// [a-zA-Z_][a-zA-Z0-9_]*.
bool isIdentifier(llvm::StringRef name);

/// What is wrong with `grid`, as a message, or nothing: what Grid::verify says,
/// a name that is no identifier, more than kMaxPositions.
std::optional<std::string> verifyGrid(const Grid &grid);

/// `(x=2, y=4)`. The result may be illegal; see verifyGrid.
mlir::ParseResult parseGrid(mlir::AsmParser &parser, Grid &grid);

/// Reads a layout. `axis` says which axis a name means, or nothing after
/// having reported an error.
mlir::ParseResult parseLayout(
    mlir::AsmParser &parser,
    llvm::function_ref<std::optional<AxisId>(llvm::StringRef, llvm::SMLoc)>
        axis,
    Layout &layout);

/// Prints `b@data, n@x.y, carry sum@z in 1`; nothing for a replicated operator.
void printSplit(llvm::raw_ostream &os, const NamedSplit &split);
/// Reads what printSplit prints, without asking whether loops and axes of these
/// names exist; nothing if `text` is not a split.
std::optional<NamedSplit> readSplit(llvm::StringRef text);

/// `layout` with each axis replaced by what `axis` says.
Layout mapAxes(const Layout &layout, llvm::function_ref<AxisId(AxisId)> axis);

} // namespace divisi::spmd

#endif // DIVISI_DIALECTS_SPMD_LAYOUTSYNTAX_H
