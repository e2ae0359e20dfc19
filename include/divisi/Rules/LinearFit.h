//===- LinearFit.h - Linear forms through samples ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_LINEARFIT_H
#define DIVISI_RULES_LINEARFIT_H

#include "divisi/Rules/Rule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// Small integers c, one for each column of `points`, with points * c = values
/// at every row. Where several are right, those of the last columns are 0.
/// Nothing if there are none.
std::optional<std::vector<int64_t>>
fitLinear(const std::vector<std::vector<int64_t>> &points,
          const std::vector<int64_t> &values);

/// The linear form with these coefficients, of 1 and then of `symbols`.
Expr linearForm(const std::vector<int64_t> &coefficients,
                const std::vector<std::string> &symbols);

/// An expression that is this number.
Expr numberExpr(int64_t value);
/// A literal; its name is how it is printed.
Expr realExpr(double number);
/// An expression that is this name.
Expr nameExpr(const std::string &name);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_LINEARFIT_H
