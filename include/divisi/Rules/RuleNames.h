//===- RuleNames.h - Names in a rule ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_RULENAMES_H
#define DIVISI_RULES_RULENAMES_H

#include "divisi/Rules/Rule.h"
#include "divisi/Support/Status.h"

#include <string>
#include <vector>

namespace divisi::rewrite {

/// What a string holds between braces: the shapes for which "{p}mk" has
/// letters. Nothing if a brace is alone.
std::optional<std::vector<std::string>> shapesInString(const std::string &text);

/// A text that names loops by letters, as labels of `op` do, with letters in
/// the order in which they stand there first: which ones they are means
/// nothing. Those of attention say what a dim is, and stay.
std::string renameLetters(const std::string &op, const std::string &text);

/// Fails with Invalid, at line and column of `file`, unless every name is
/// declared once, before it is used, and used; everything that a match has to
/// find stands in the source; nodes are needed; and the sides have as many
/// results.
Status checkNames(const Rule &rule, const std::string &file);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_RULENAMES_H
