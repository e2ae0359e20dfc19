//===- Shapes.h - Rules with fewer shapes -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_SHAPES_H
#define DIVISI_LIB_GENERATE_SHAPES_H

#include "divisi/Rules/Rule.h"

#include <optional>
#include <string>

namespace divisi::rewrite {

/// The rule with no `second`, for which `first` stands as well. Nothing unless
/// every `first` is followed by a `second`, and every `second` follows one.
std::optional<Rule> withoutShape(const Rule &rule, const std::string &first,
                                 const std::string &second);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_SHAPES_H
