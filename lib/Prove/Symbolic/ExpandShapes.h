//===- ExpandShapes.h - Expressions at ranks --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_SYMBOLIC_EXPANDSHAPES_H
#define DIVISI_LIB_PROVE_SYMBOLIC_EXPANDSHAPES_H

#include "divisi/Rules/Assignment.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// The symbol that an extent of a shape is.
std::string extentName(const std::string &shape, size_t dim);

/// Writes out an expression: of shapes only extents are left, as symbols, and
/// `index` is `at`. Nothing where a shape has no such extent.
std::optional<Expr> expandShapes(const Expr &expr, const Ranks &ranks,
                                 const std::string &index, size_t at);

/// The same of a list.
std::optional<std::vector<Expr>> expandShapes(const Items &items,
                                              const Ranks &ranks);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_SYMBOLIC_EXPANDSHAPES_H
