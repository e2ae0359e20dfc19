//===- ModuleText.cpp - What MLIR's parser may be given -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/ModuleText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace divisi;

/// How many tokens one alias may stand for.
static constexpr uint64_t kMostAlias = uint64_t(1) << 16;

/// How many tokens a text of `bytes` may stand for: small texts may have much
/// in common.
static uint64_t mostTokens(size_t bytes) {
  return (uint64_t(1) << 20) + 256 * uint64_t(bytes);
}

namespace {

/// What an alias stands for.
struct Alias {
  int depth = 0;       ///< Brackets within brackets.
  uint64_t tokens = 0; ///< With those of the aliases in it.
};

/// Where a scanner is.
struct Cursor {
  size_t begin = 0, end = 0; ///< Of the token.
  bool isFirstInLine = true;
};

/// Goes through the tokens of one text, as MLIR's lexer divides it.
class TextScanner {
public:
  TextScanner(StringRef text, const std::string &name)
      : text_(text), name_(name) {}

  Status run();

private:
  /// Moves to the next token, which is empty at the end.
  StringRef next();
  void skipBlanks();
  /// The token that is `steps` further.
  StringRef ahead(int steps);

  void take(StringRef token);
  void takeBracket(char bracket);
  void takeName(StringRef name);
  void takeWord(StringRef word);
  /// Whether `token` cannot belong to the definition of an alias.
  bool endsDefinition(StringRef token) const;
  /// Counts a token that stands for `tokens`, `depth` brackets deep.
  void count(uint64_t tokens, int depth);
  void fail(const Twine &what);

  StringRef text_;
  const std::string &name_;
  Cursor at_;
  StringRef last_;         ///< The token before.
  SmallVector<char> open_; ///< What closes them.
  StringMap<Alias> aliases_;
  Alias *defined_ = nullptr; ///< Whose definition this is.
  uint64_t tokens_ = 0;
  Status status_;
};

} // namespace

static bool isInWord(char c) {
  return isAlnum(c) || StringRef("$._").contains(c);
}

/// How long the token is that `text` begins with.
static size_t lengthOfToken(StringRef text) {
  size_t length = 1;
  if (text.front() == '"') {
    while (length < text.size() &&
           !StringRef("\"\n\v\f").contains(text[length])) {
      length += text[length] == '\\' ? 2 : 1;
    }
    return std::min(length + 1, text.size());
  }
  if (isInWord(text.front()) || StringRef("#!%^@").contains(text.front())) {
    // Names may have hyphens; numbers are joined with what follows (2x3xf32).
    bool isName = !isInWord(text.front());
    while (length < text.size() &&
           (isInWord(text[length]) || (isName && text[length] == '-'))) {
      ++length;
    }
    return length;
  }
  return text.starts_with("->") ? 2 : 1;
}

void TextScanner::fail(const Twine &what) {
  if (status_.isOk()) {
    StringRef before = text_.take_front(at_.begin);
    status_ =
        makeError(ExitCode::Invalid, name_, ":", before.count('\n') + 1, ":",
                  at_.begin - (before.rfind('\n') + 1) + 1, ": ", what.str());
  }
}

void TextScanner::skipBlanks() {
  while (at_.end < text_.size()) {
    char c = text_[at_.end];
    if (text_.substr(at_.end).starts_with("//")) {
      at_.end = std::min(text_.find_first_of("\n\r", at_.end), text_.size());
    } else if (StringRef(" \t\r\n\0", 5).contains(c)) {
      at_.isFirstInLine |= c == '\n' || c == '\r';
      ++at_.end;
    } else {
      break;
    }
  }
}

StringRef TextScanner::next() {
  at_.isFirstInLine = at_.end == 0;
  skipBlanks();
  at_.begin = at_.end;
  StringRef rest = text_.substr(at_.begin);
  at_.end += rest.empty() ? 0 : lengthOfToken(rest);
  return text_.slice(at_.begin, at_.end);
}

StringRef TextScanner::ahead(int steps) {
  Cursor here = at_;
  StringRef token;
  for (int i = 0; i < steps; ++i) {
    token = next();
  }
  at_ = here;
  return token;
}

void TextScanner::count(uint64_t tokens, int depth) {
  int whole = int(open_.size()) + depth;
  tokens_ = SaturatingAdd(tokens_, tokens);
  if (tokens_ > mostTokens(text_.size())) {
    fail("with its aliases the text stands for more than " +
         Twine(mostTokens(text_.size())) + " tokens; use fewer of them");
  }
  if (whole > kMostTextDepth) {
    fail("brackets and aliases are nested more than " + Twine(kMostTextDepth) +
         " deep");
  }
  if (defined_) {
    defined_->depth = std::max(defined_->depth, whole);
    defined_->tokens = SaturatingAdd(defined_->tokens, tokens);
    if (defined_->tokens > kMostAlias) {
      fail("an alias stands for more than " + Twine(kMostAlias) + " tokens");
    }
  }
}

/// What closes another bracket than the innermost is left to the parser.
void TextScanner::takeBracket(char bracket) {
  size_t opening = StringRef("([{<").find(bracket);
  if (opening != StringRef::npos) {
    open_.push_back(")]}>"[opening]);
  } else if (!open_.empty() && open_.back() == bracket) {
    open_.pop_back();
  }
  count(1, 0);
}

/// An alias, or the name of a dialect's attribute or type.
void TextScanner::takeName(StringRef name) {
  if (open_.empty() && ahead(1) == "=") {
    defined_ = &aliases_[name];
    *defined_ = Alias();
    return;
  }
  auto found = aliases_.find(name);
  if (found == aliases_.end()) {
    return count(1, 0);
  }
  if (defined_ == &found->second) {
    defined_ = nullptr; // It has ended, though on the same line.
  }
  // An alias is a level of its own: it may name another without brackets.
  count(found->second.tokens + 1, found->second.depth + 1);
}

void TextScanner::takeWord(StringRef word) {
  if (word == "affine_map" || word == "affine_set") {
    fail(word + " has no meaning in a module of Divisi; remove it");
  }
  if (word == "array" && ahead(1) == "<") {
    StringRef element = ahead(2);
    if (element == "index" || element.starts_with("!")) {
      fail("an array of " + element +
           "; expected integers or floats whose type stands here, as in "
           "array<i64: 1, 2>");
    }
  }
  count(1, 0);
}

/// At the beginning of a line, and not behind a mark that something has to
/// follow.
bool TextScanner::endsDefinition(StringRef token) const {
  return open_.empty() && at_.isFirstInLine && !last_.empty() &&
         (isInWord(last_.back()) ||
          StringRef(")]}>\"").contains(last_.back())) &&
         last_ != "->" &&
         (isInWord(token.front()) ||
          StringRef("\"#!%^@{").contains(token.front()));
}

void TextScanner::take(StringRef token) {
  if (endsDefinition(token)) {
    defined_ = nullptr;
  }
  if (StringRef("()[]{}<>").contains(token.front())) {
    takeBracket(token.front());
  } else if (token.front() == '#' || token.front() == '!') {
    takeName(token);
  } else if (isInWord(token.front())) {
    takeWord(token);
  } else {
    count(1, 0);
  }
}

Status TextScanner::run() {
  for (StringRef token = next(); !token.empty() && status_.isOk();
       token = next()) {
    take(token);
    last_ = token;
  }
  return status_;
}

Status divisi::checkModuleText(StringRef text, const std::string &name) {
  return TextScanner(text, name).run();
}
