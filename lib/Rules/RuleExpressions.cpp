//===- RuleExpressions.cpp - Expressions and types from text --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rules/RuleExpressions.h"

#include <limits>
#include <utility>

using namespace divisi;
using namespace divisi::rewrite;

/// Deeper parentheses are not for readers.
static constexpr int kMostNesting = 64;

const Token &ExpressionParser::peek() {
  while (!failed() && tokens_[at_].kind == Token::Kind::Comment) {
    comments_.push_back(tokens_[at_++].text);
  }
  return failed() ? tokens_.back() : tokens_[at_];
}

Token ExpressionParser::take() {
  Token token = peek();
  at_ += token.kind != Token::Kind::End;
  return token;
}

void ExpressionParser::failAt(Position at, const std::string &what) {
  if (!failed()) {
    status_ = errorAt(file_, at, what);
  }
}

void ExpressionParser::fail(const std::string &wanted) {
  const Token &token = peek();
  std::string got = token.kind == Token::Kind::End ? "the end of the file"
                    : token.kind == Token::Kind::String
                        ? "\"" + token.text + "\""
                        : "'" + token.text + "'";
  failAt(token.at, "expected " + wanted + ", got " + got);
}

bool ExpressionParser::isNext(std::string_view text) {
  const Token &token = peek();
  return (token.kind == Token::Kind::Word || token.kind == Token::Kind::Mark) &&
         token.text == text;
}

bool ExpressionParser::isCall() {
  const Token &token = peek();
  return token.kind == Token::Kind::Word && tokens_[at_ + 1].text == "(" &&
         token.text != "rank" && token.text != "count";
}

bool ExpressionParser::accept(std::string_view text) {
  bool found = isNext(text);
  at_ += found;
  return found;
}

void ExpressionParser::expect(std::string_view text) {
  if (!accept(text)) {
    fail("'" + std::string(text) + "'");
  }
}

std::string ExpressionParser::name(const std::string &what) {
  if (peek().kind != Token::Kind::Word) {
    fail(what);
    return {};
  }
  return take().text;
}

/// Words and numbers with hyphens between them, and no spaces.
std::string ExpressionParser::hyphenated(const std::string &what) {
  std::string text = name(what);
  while (!failed() && peek().isAdjacent &&
         (peek().text == "-" || peek().kind == Token::Kind::Word ||
          peek().kind == Token::Kind::Integer)) {
    text += take().text;
  }
  return text;
}

std::string ExpressionParser::quoted(const std::string &what) {
  if (peek().kind != Token::Kind::String) {
    fail(what);
    return {};
  }
  return take().text;
}

std::vector<std::string> ExpressionParser::names(const std::string &what) {
  std::vector<std::string> result;
  do {
    result.push_back(name(what));
  } while (!failed() && accept(","));
  return result;
}

std::vector<std::string> ExpressionParser::passedComments() {
  return std::exchange(comments_, {});
}

std::vector<std::string> ExpressionParser::takeComments() {
  peek();
  return passedComments();
}

//===----------------------------------------------------------------------===//
// Expressions and types
//===----------------------------------------------------------------------===//

static Expr combine(Expr::Kind kind, Position at, Expr left, Expr right) {
  Expr result;
  result.kind = kind;
  result.at = at;
  result.operands = {std::move(left), std::move(right)};
  return result;
}

Expr ExpressionParser::expression() {
  Expr result = product();
  while (!failed() && (isNext("+") || isNext("-"))) {
    Token sign = take();
    result = combine(sign.text == "+" ? Expr::Kind::Add : Expr::Kind::Sub,
                     sign.at, std::move(result), product());
  }
  return result;
}

Expr ExpressionParser::product() {
  Expr result = factor();
  while (!failed() && (isNext("*") || isNext("/"))) {
    Token sign = take();
    result = combine(sign.text == "*" ? Expr::Kind::Mul : Expr::Kind::Div,
                     sign.at, std::move(result), factor());
  }
  return result;
}

Expr ExpressionParser::factor() {
  Expr result;
  result.at = peek().at;
  if (accept("(")) {
    if (++nesting_ > kMostNesting) {
      failAt(result.at, "there are more than " + std::to_string(kMostNesting) +
                            " parentheses in each other");
      return result;
    }
    result = expression();
    --nesting_;
    expect(")");
    return result;
  }
  if (std::optional<double> number = real()) {
    result.kind = Expr::Kind::Real;
    result.real = *number;
    return result;
  }
  bool isNegative = accept("-");
  if (peek().kind == Token::Kind::Integer) {
    int64_t number = take().integer;
    result.value = isNegative ? -number : number;
    return result;
  }
  if (isNegative) {
    fail("a number behind '-'");
  }
  result.name = name("a size, an integer or a number");
  result.kind = Expr::Kind::Name;
  bool isRank = result.name == "rank";
  if ((isRank || result.name == "count") && accept("(")) {
    result.kind = isRank ? Expr::Kind::Rank : Expr::Kind::Count;
    result.name = name("a shape");
    expect(")");
  } else if (accept("[")) {
    result.kind = Expr::Kind::Extent;
    if (++nesting_ > kMostNesting) {
      failAt(result.at, "there are too many brackets in each other");
      return result;
    }
    result.operands.push_back(expression());
    --nesting_;
    expect("]");
  }
  return result;
}

Item ExpressionParser::item() {
  Item result;
  result.value = expression();
  if (result.value.kind == Expr::Kind::Name && accept("...")) {
    result.shape = result.value.name;
  } else if (accept("for")) {
    result.index = name("an index");
    expect("in");
    result.shape = name("a shape");
  }
  return result;
}

Items ExpressionParser::items() {
  Items result;
  expect("[");
  while (!failed() && !isNext("]")) {
    result.push_back(item());
    if (!accept(",")) {
      break;
    }
  }
  expect("]");
  return result;
}

/// A real, behind '-' if it is negative; nothing where something else stands.
std::optional<double> ExpressionParser::real() {
  bool isNegative = isNext("-");
  const Token &token =
      isNegative && at_ + 1 < tokens_.size() ? tokens_[at_ + 1] : peek();
  double number = token.real;
  // Words otherwise: an operator may have an attribute of that name.
  if (token.kind == Token::Kind::Word && token.text == "inf") {
    number = std::numeric_limits<double>::infinity();
  } else if (token.kind == Token::Kind::Word && token.text == "nan") {
    number = std::numeric_limits<double>::quiet_NaN();
  } else if (token.kind != Token::Kind::Real) {
    return std::nullopt;
  }
  at_ += isNegative ? 2 : 1;
  return isNegative ? -number : number;
}

std::optional<double> ExpressionParser::loneReal() {
  size_t before = at_;
  std::optional<double> found = real();
  if (found && (isNext("*") || isNext("/"))) {
    at_ = before;
    return std::nullopt;
  }
  return found;
}

Expr ExpressionParser::number() {
  Position at = peek().at;
  std::optional<double> found = loneReal();
  if (!found) {
    return expression();
  }
  Expr result;
  result.kind = Expr::Kind::Real;
  result.real = *found;
  result.at = at;
  return result;
}

Value ExpressionParser::value() {
  if (std::optional<double> number = loneReal()) {
    return *number;
  }
  if (isNext("true") || isNext("false")) {
    return take().text == "true";
  }
  if (peek().kind == Token::Kind::String) {
    return take().text;
  }
  if (isNext("[")) {
    return items();
  }
  return expression();
}

TensorType ExpressionParser::type() {
  TensorType result;
  result.at = peek().at;
  result.element = name("an element type, as in 'float[m, n]'");
  result.shape = items();
  return result;
}
