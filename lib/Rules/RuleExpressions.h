//===- RuleExpressions.h - Expressions and types from text ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_RULES_RULEEXPRESSIONS_H
#define DIVISI_LIB_RULES_RULEEXPRESSIONS_H

#include "divisi/Rules/Rule.h"
#include "lib/Rules/RuleLexer.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace divisi::rewrite {

/// Recursive descent through the parts of statements. The first error is kept
/// and ends it: what reads on gets End tokens.
class ExpressionParser {
public:
  /// Reads `tokens`, whose last is an End, of `file`, which outlives this.
  ExpressionParser(std::vector<Token> tokens, const std::string &file)
      : tokens_(std::move(tokens)), file_(file) {}

protected:
  const Token &peek();
  Token take();
  bool failed() const { return !status_.isOk(); }
  /// What stands next is not `wanted`.
  void fail(const std::string &wanted);
  void failAt(Position at, const std::string &what);
  bool isNext(std::string_view text);
  /// Whether an operator and its operands stand next.
  bool isCall();
  bool accept(std::string_view text);
  void expect(std::string_view text);
  std::string name(const std::string &what);
  std::string hyphenated(const std::string &what);
  std::string quoted(const std::string &what);
  std::vector<std::string> names(const std::string &what);
  /// The comments that were passed since they were taken last; and those with
  /// the ones that stand before the next token.
  std::vector<std::string> passedComments();
  std::vector<std::string> takeComments();

  Expr expression();
  /// A real, or else an expression.
  Expr number();
  Items items();
  std::optional<double> real();
  /// A real of which no expression begins.
  std::optional<double> loneReal();
  Value value();
  TensorType type();

  std::vector<Token> tokens_;
  const std::string &file_;
  Status status_;

private:
  Expr product();
  Expr factor();
  Item item();

  size_t at_ = 0;
  int nesting_ = 0;
  std::vector<std::string> comments_;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_RULES_RULEEXPRESSIONS_H
