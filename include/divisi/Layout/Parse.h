//===- Parse.h - Reading what this room prints ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inverse of the print methods, for reports that were written as text:
//
//   (x=2, y=4)                      a grid
//   [x.y, *, z{0:5, 3:8}]           a layout, which ` partial sum {w}` may
//   follow
//
// Both accept spaces between words, and check what they read: the grid
// verifies, axes exist, no axis is used twice. What depends on a shape is left
// to Layout::verify.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_PARSE_H
#define DIVISI_LAYOUT_PARSE_H

#include "divisi/Layout/Layout.h"

#include "llvm/Support/Error.h"

namespace divisi {

/// Reads a grid. The error says what was expected, and where.
llvm::Expected<Grid> parseGrid(llvm::StringRef text);

/// Reads a layout on `grid`. It is not canonical: that needs the shape.
llvm::Expected<Layout> parseLayout(llvm::StringRef text, const Grid &grid);

} // namespace divisi

#endif // DIVISI_LAYOUT_PARSE_H
