//===- Parse.h - Reading what this room prints ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inverse of the print methods, for command lines, constraint files and
// tests:
//
//   (x=2, y=4)                      a grid
//   [x.y, *, z{0:5, 3:8}]           a layout, ` partial sum {w}` after it or
//   not m@x, n@y.z, carry sum@w in 1    a split
//
// All of them accept spaces between words, and check what they read: the grid
// verifies, axes and loops exist, no axis is used twice. What depends on a
// shape or on a nest's rules is left to Layout::verify and verifySplit.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_PARSE_H
#define DIVISI_LAYOUT_PARSE_H

#include "divisi/Layout/Loops.h"

#include "llvm/Support/Error.h"

namespace divisi {

/// Reads a grid. The error says what was expected, and where.
llvm::Expected<Grid> parseGrid(llvm::StringRef text);

/// Reads a layout on `grid`. It is not canonical: that needs the shape.
llvm::Expected<Layout> parseLayout(llvm::StringRef text, const Grid &grid);

/// Reads a split of an operator with `nest` over `grid`.
llvm::Expected<Split> parseSplit(llvm::StringRef text, const Grid &grid,
                                 const LoopNest &nest);

} // namespace divisi

#endif // DIVISI_LAYOUT_PARSE_H
