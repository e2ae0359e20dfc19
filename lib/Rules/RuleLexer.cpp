//===- RuleLexer.cpp - Tokens of a rule file ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rules/RuleLexer.h"
#include "divisi/Support/VisibleText.h"

#include <algorithm>
#include <charconv>

using namespace divisi;
using namespace divisi::rewrite;

Status divisi::rewrite::errorAt(const std::string &file, Position at,
                                const std::string &what) {
  return makeError(ExitCode::Invalid, file, ":", at.line, ":", at.column, ": ",
                   what);
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

namespace {

/// Goes through one text.
class Lexer {
public:
  Lexer(std::string_view text, const std::string &file)
      : text_(text), file_(file) {}
  Expected<std::vector<Token>> run();

private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  Position here() const { return {line_, int(at_ - lineBegin_) + 1}; }
  void skipSpace();
  Status next(Token &token);
  Status number(Token &token);
  Status quoted(Token &token);
  Status comment(Token &token);
  Status checkVisible(const Token &token) const;
  void take(Token &token, Token::Kind kind, size_t count);

  std::string_view text_;
  const std::string &file_;
  size_t at_ = 0, lineBegin_ = 0;
  int line_ = 1;
};

} // namespace

void Lexer::skipSpace() {
  for (; at_ != text_.size() && isSpace(text_[at_]); ++at_) {
    if (text_[at_] == '\n') {
      ++line_;
      lineBegin_ = at_ + 1;
    }
  }
}

void Lexer::take(Token &token, Token::Kind kind, size_t count) {
  token.kind = kind;
  token.text = std::string(text_.substr(at_, count));
  at_ += count;
}

/// An integer, or a real: then it has a point or an exponent.
Status Lexer::number(Token &token) {
  size_t end = at_;
  auto digits = [&] {
    for (; end < text_.size() && isDigit(text_[end]); ++end) {
    }
  };
  auto at = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
  digits();
  bool isReal = at(end) == '.' && isDigit(at(end + 1));
  if (isReal) {
    ++end;
    digits();
  }
  size_t exponent =
      at(end + 1) == '-' || at(end + 1) == '+' ? end + 2 : end + 1;
  if (at(end) == 'e' && isDigit(at(exponent))) {
    isReal = true;
    end = exponent;
    digits();
  }
  take(token, isReal ? Token::Kind::Real : Token::Kind::Integer, end - at_);
  const char *first = token.text.data(), *last = first + token.text.size();
  auto error = isReal ? std::from_chars(first, last, token.real).ec
                      : std::from_chars(first, last, token.integer).ec;
  return error == std::errc()
             ? Status()
             : errorAt(file_, token.at,
                       "the number " + token.text + " is too large");
}

Status Lexer::quoted(Token &token) {
  token.kind = Token::Kind::String;
  for (++at_; peek() != '"'; ++at_) {
    if (at_ >= text_.size() || peek() == '\n') {
      return errorAt(file_, token.at,
                     "the string does not end on its line; expected '\"'");
    }
    at_ += peek() == '\\' && (peek(1) == '"' || peek(1) == '\\') ? 1 : 0;
    token.text += peek();
  }
  ++at_;
  return checkVisible(token);
}

/// Texts and comments are for readers, who are also shown them on terminals.
Status Lexer::checkVisible(const Token &token) const {
  std::string text = token.text, visible;
  std::ranges::replace(text, '\t', ' ');
  appendVisible(visible, text, Escape::Bytes);
  return visible == text
             ? Status()
             : errorAt(
                   file_, token.at,
                   "the text '" + visible +
                       "' holds characters that are not shown; remove them");
}

Status Lexer::comment(Token &token) {
  size_t end = std::min(text_.find('\n', at_), text_.size());
  take(token, Token::Kind::Comment, end - at_);
  token.text.erase(0, 2);
  if (token.text.starts_with(' ')) {
    token.text.erase(0, 1);
  }
  while (!token.text.empty() && isSpace(token.text.back())) {
    token.text.pop_back();
  }
  return checkVisible(token);
}

Status Lexer::next(Token &token) {
  token.at = here();
  char c = peek();
  if (at_ == text_.size()) {
    return Status();
  }
  if (isLetter(c)) {
    size_t count = 1;
    while (isLetter(peek(count)) || isDigit(peek(count))) {
      ++count;
    }
    take(token, Token::Kind::Word, count);
    return Status();
  }
  if (isDigit(c)) {
    return number(token);
  }
  if (c == '"') {
    return quoted(token);
  }
  if (text_.substr(at_).starts_with("//")) {
    return comment(token);
  }
  for (std::string_view mark :
       {"...", "==", "!=", "<=", ">=", "{", "}", "(", ")", "[",
        "]",   ",",  ":",  "=",  "<",  ">", "+", "-", "*", "/"}) {
    if (text_.substr(at_).starts_with(mark)) {
      take(token, Token::Kind::Mark, mark.size());
      return Status();
    }
  }
  return errorAt(file_, token.at,
                 c > ' ' && c < 127
                     ? std::string("the character '") + c +
                           "' has no meaning here"
                     : "the byte " + std::to_string(int(uint8_t(c))) +
                           " has no meaning here");
}

Expected<std::vector<Token>> Lexer::run() {
  std::vector<Token> tokens;
  do {
    size_t before = at_;
    skipSpace();
    Token token;
    token.isAdjacent = at_ == before;
    if (Status status = next(token); !status.isOk()) {
      return status;
    }
    tokens.push_back(std::move(token));
  } while (tokens.back().kind != Token::Kind::End);
  return tokens;
}

Expected<std::vector<Token>>
divisi::rewrite::splitRules(std::string_view text, const std::string &file) {
  return Lexer(text, file).run();
}
