//===- RuleParser.cpp - Rules from text -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/RuleText.h"
#include "lib/Rewrite/RuleLexer.h"
#include "lib/Rewrite/RuleNames.h"

#include <set>

using namespace divisi;
using namespace divisi::rewrite;

/// Deeper parentheses are not for readers.
static constexpr int kMostNesting = 64;

namespace {

/// Recursive descent. The first error ends it: what reads on gets End tokens.
class Parser {
public:
  Parser(std::vector<Token> tokens, const std::string &file)
      : tokens_(std::move(tokens)), file_(file) {}
  Expected<std::vector<Rule>> run();

private:
  const Token &peek();
  Token take();
  bool failed() const { return !status_.isOk(); }
  void fail(const std::string &wanted);
  void failAt(Position at, const std::string &what);
  bool isNext(std::string_view text);
  bool accept(std::string_view text);
  void expect(std::string_view text);
  std::string name(const std::string &what);
  std::string hyphenated(const std::string &what);
  std::string quoted(const std::string &what);
  std::vector<std::string> names(const std::string &what);
  std::vector<std::string> takeComments();

  Expr expression();
  Expr product();
  Expr factor();
  Item item();
  Items items();
  Value value();
  std::optional<double> real();
  TensorType type();

  Rule rule(bool isAxiom);
  void statement(Rule &rule, std::set<std::string> &seen);
  bool declaration(Rule &rule, const std::string &word);
  void condition(Rule &rule);
  NumericClass numericClass();
  Graph graph();
  Node node();

  std::vector<Token> tokens_;
  const std::string &file_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::vector<std::string> comments_;
  Status status_;
};

} // namespace

const Token &Parser::peek() {
  while (!failed() && tokens_[at_].kind == Token::Kind::Comment) {
    comments_.push_back(tokens_[at_++].text);
  }
  return failed() ? tokens_.back() : tokens_[at_];
}

Token Parser::take() {
  Token token = peek();
  at_ += token.kind != Token::Kind::End;
  return token;
}

void Parser::failAt(Position at, const std::string &what) {
  if (!failed()) {
    status_ = errorAt(file_, at, what);
  }
}

void Parser::fail(const std::string &wanted) {
  const Token &token = peek();
  std::string got = token.kind == Token::Kind::End ? "the end of the file"
                    : token.kind == Token::Kind::String
                        ? "\"" + token.text + "\""
                        : "'" + token.text + "'";
  failAt(token.at, "expected " + wanted + ", got " + got);
}

bool Parser::isNext(std::string_view text) {
  const Token &token = peek();
  return (token.kind == Token::Kind::Word || token.kind == Token::Kind::Mark) &&
         token.text == text;
}

bool Parser::accept(std::string_view text) {
  bool found = isNext(text);
  at_ += found;
  return found;
}

void Parser::expect(std::string_view text) {
  if (!accept(text)) {
    fail("'" + std::string(text) + "'");
  }
}

std::string Parser::name(const std::string &what) {
  if (peek().kind != Token::Kind::Word) {
    fail(what);
    return {};
  }
  return take().text;
}

/// Words and numbers with hyphens between them, and no spaces.
std::string Parser::hyphenated(const std::string &what) {
  std::string text = name(what);
  while (!failed() && peek().isAdjacent &&
         (peek().text == "-" || peek().kind == Token::Kind::Word ||
          peek().kind == Token::Kind::Integer)) {
    text += take().text;
  }
  return text;
}

std::string Parser::quoted(const std::string &what) {
  if (peek().kind != Token::Kind::String) {
    fail(what);
    return {};
  }
  return take().text;
}

std::vector<std::string> Parser::names(const std::string &what) {
  std::vector<std::string> result;
  do {
    result.push_back(name(what));
  } while (!failed() && accept(","));
  return result;
}

std::vector<std::string> Parser::takeComments() {
  peek();
  return std::exchange(comments_, {});
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

Expr Parser::expression() {
  Expr result = product();
  while (!failed() && (isNext("+") || isNext("-"))) {
    Token sign = take();
    result = combine(sign.text == "+" ? Expr::Kind::Add : Expr::Kind::Sub,
                     sign.at, std::move(result), product());
  }
  return result;
}

Expr Parser::product() {
  Expr result = factor();
  while (!failed() && (isNext("*") || isNext("/"))) {
    Token sign = take();
    result = combine(sign.text == "*" ? Expr::Kind::Mul : Expr::Kind::Div,
                     sign.at, std::move(result), factor());
  }
  return result;
}

Expr Parser::factor() {
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
  if (result.name == "rank" && accept("(")) {
    result.kind = Expr::Kind::Rank;
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

Item Parser::item() {
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

Items Parser::items() {
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
std::optional<double> Parser::real() {
  bool isNegative = isNext("-");
  const Token &token =
      isNegative && at_ + 1 < tokens_.size() ? tokens_[at_ + 1] : peek();
  if (token.kind != Token::Kind::Real) {
    return std::nullopt;
  }
  double number = isNegative ? -token.real : token.real;
  at_ += isNegative ? 2 : 1;
  return number;
}

Value Parser::value() {
  if (std::optional<double> number = real()) {
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

TensorType Parser::type() {
  TensorType result;
  result.at = peek().at;
  result.element = name("an element type, as in 'float[m, n]'");
  result.shape = items();
  return result;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Node Parser::node() {
  Node result;
  result.comments = takeComments();
  result.at = peek().at;
  result.name = name("a name, 'return' or '}'");
  expect("=");
  if (std::optional<double> number = real()) {
    result.element = *number;
    if (!isNext(":")) {
      fail("':' and the type of a tensor of equal elements");
    }
  } else {
    result.op = name("an operator or a real number");
    expect("(");
    if (!isNext(")")) {
      result.operands = names("an operand");
    }
    expect(")");
  }
  if (accept("{")) {
    do {
      Position at = peek().at;
      std::string attribute = name("an attribute");
      for (const auto &[other, ignored] : result.attributes) {
        if (other == attribute) {
          failAt(at, "the attribute '" + attribute + "' is given twice");
        }
      }
      expect("=");
      result.attributes.emplace_back(attribute, value());
    } while (!failed() && accept(","));
    expect("}");
  }
  if (accept(":")) {
    result.type = type();
  }
  return result;
}

Graph Parser::graph() {
  Graph result;
  result.at = peek().at;
  expect("{");
  while (!failed() && !isNext("return")) {
    result.nodes.push_back(node());
  }
  expect("return");
  result.results = names("a result");
  expect("}");
  return result;
}

NumericClass Parser::numericClass() {
  Position at = peek().at;
  std::string word = hyphenated("a numeric class");
  for (NumericClass each : {NumericClass::BitExact, NumericClass::Reassociates,
                            NumericClass::ChangesRange}) {
    if (word == spell(each)) {
      return each;
    }
  }
  failAt(at, "expected bit-exact, reassociates or changes-range, got '" + word +
                 "'");
  return {};
}

void Parser::condition(Rule &rule) {
  Condition result;
  result.comments = takeComments();
  result.at = peek().at;
  result.left = expression();
  for (Relation each : {Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le,
                        Relation::Gt, Relation::Ge, Relation::Divides}) {
    if (accept(spell(each))) {
      result.relation = each;
      result.right = expression();
      rule.conditions.push_back(std::move(result));
      return;
    }
  }
  fail("==, !=, <, <=, >, >= or divides");
}

/// Whether `word` began a declaration, which then is read.
bool Parser::declaration(Rule &rule, const std::string &word) {
  for (auto [key, list] :
       {std::pair("size", &rule.sizes), std::pair("shape", &rule.shapes),
        std::pair("int", &rule.ints), std::pair("real", &rule.reals)}) {
    if (word == key) {
      for (std::string &each : names("a name")) {
        list->push_back(std::move(each));
      }
      return true;
    }
  }
  if (word == "operator") {
    OperatorChoice choice;
    choice.at = peek().at;
    choice.name = name("a name");
    expect(":");
    choice.operators = names("an operator");
    rule.operators.push_back(std::move(choice));
    return true;
  }
  for (VariableKind kind : {VariableKind::Activation, VariableKind::Weight,
                            VariableKind::Constant}) {
    if (word == spell(kind)) {
      Variable variable;
      variable.kind = kind;
      variable.comments = takeComments();
      variable.at = peek().at;
      variable.name = name("a name");
      expect(":");
      variable.type = type();
      rule.variables.push_back(std::move(variable));
      return true;
    }
  }
  return false;
}

void Parser::statement(Rule &rule, std::set<std::string> &seen) {
  Position at = peek().at;
  std::string word = name("a statement or '}'");
  if (failed() || declaration(rule, word)) {
    return;
  }
  if (word == "where") {
    return condition(rule);
  }
  if (!seen.insert(word).second) {
    return failAt(at, "'" + word + "' stands twice in one rule");
  }
  if (word == "summary") {
    rule.summary = quoted("a text in quotes");
  } else if (word == "source") {
    rule.source = graph();
  } else if (word == "target") {
    rule.target = graph();
  } else if (word == "class") {
    rule.numericClass = numericClass();
  } else if (word == "open") {
    rule.open = quoted("what is open, in quotes");
  } else if (word == "generated") {
    rule.isGenerated = true;
  } else {
    failAt(at, "expected summary, size, shape, int, real, operator, activation, "
               "weight, constant, where, source, target, class, open or generated, "
               "got '" +
                   word + "'");
  }
}

Rule Parser::rule(bool isAxiom) {
  Rule result;
  result.isAxiom = isAxiom;
  result.comments = takeComments();
  result.at = peek().at;
  result.name = hyphenated("the name of a rule");
  expect("{");
  std::set<std::string> seen;
  while (!failed() && !isNext("}")) {
    statement(result, seen);
  }
  expect("}");
  for (const char *needed : {"summary", "source", "target"}) {
    if (!seen.count(needed)) {
      failAt(result.at,
             "'" + result.name + "' has no " + needed + "; expected one");
    }
  }
  for (std::string &comment : std::exchange(comments_, {})) {
    result.comments.push_back(std::move(comment));
  }
  return result;
}

Expected<std::vector<Rule>> Parser::run() {
  std::vector<Rule> rules;
  std::set<std::string> seen;
  while (!failed() && peek().kind != Token::Kind::End) {
    bool isAxiom = isNext("axiom");
    if (!isAxiom && !isNext("rule")) {
      fail("'rule' or 'axiom'");
      break;
    }
    take();
    rules.push_back(rule(isAxiom));
    const Rule &last = rules.back();
    if (!failed() && !seen.insert(last.name).second) {
      failAt(last.at, "there are two rules called '" + last.name + "'");
    }
    if (!failed()) {
      status_ = checkNames(last, file_);
    }
  }
  // What stands below the last rule would be lost.
  for (std::string &comment : comments_) {
    if (!rules.empty()) {
      rules.back().comments.push_back(std::move(comment));
    }
  }
  return failed() ? Expected<std::vector<Rule>>(status_) : std::move(rules);
}

Expected<std::vector<Rule>>
divisi::rewrite::parseRules(std::string_view text, const std::string &file) {
  Expected<std::vector<Token>> tokens = splitRules(text, file);
  if (!tokens) {
    return tokens.status();
  }
  return Parser(std::move(*tokens), file).run();
}
