//===- RuleLexer.h - Tokens of a rule file ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_RULES_RULELEXER_H
#define DIVISI_LIB_RULES_RULELEXER_H

#include "divisi/Rules/Rule.h"
#include "divisi/Support/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace divisi::rewrite {

/// One word of the text.
struct Token {
  /// What it is; every mark but quotes is a token of its own.
  enum class Kind : uint8_t { Word, Integer, Real, String, Mark, Comment, End };
  Kind kind = Kind::End;
  std::string text;    ///< As it stands there; of strings and comments, within.
  int64_t integer = 0; ///< Of an Integer.
  double real = 0;     ///< Of a Real.
  Position at;
  bool isAdjacent = false; ///< To the token before.
};

/// Splits a text; the last token is an End. Fails with Invalid for what is no
/// token, in a message that begins with `file`, line and column.
Expected<std::vector<Token>> splitRules(std::string_view text,
                                        const std::string &file);

/// `file:line:column: what`, with code Invalid.
Status errorAt(const std::string &file, Position at, const std::string &what);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_RULES_RULELEXER_H
