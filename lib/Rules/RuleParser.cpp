//===- RuleParser.cpp - Rules from text -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Lemmas.h"
#include "divisi/Rules/RuleNames.h"
#include "divisi/Rules/RuleText.h"
#include "divisi/Support/InputText.h"
#include "divisi/Support/OutputFile.h"
#include "lib/Rules/RuleExpressions.h"

#include <set>

using namespace divisi;
using namespace divisi::rewrite;

namespace {

/// Reads the statements of rules.
class Parser : ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;
  Expected<std::vector<Rule>> run();

private:
  Rule rule(bool isAxiom);
  void statement(Rule &rule, std::set<std::string> &seen);
  bool declaration(Rule &rule, const std::string &word);
  void condition(Rule &rule);
  NumericClass numericClass();
  Graph graph();
  Node node();
};

} // namespace

Node Parser::node() {
  Node result;
  result.comments = takeComments();
  result.at = peek().at;
  result.name = name("a name, 'return' or '}'");
  expect("=");
  std::optional<double> number = loneReal();
  bool isElement = number || isNext("(") || isNext("-") ||
                   peek().kind == Token::Kind::Integer ||
                   peek().kind == Token::Kind::Real ||
                   (peek().kind == Token::Kind::Word && !isCall());
  if (isElement) {
    result.element = number ? Value(*number) : Value(expression());
    if (!isNext(":")) {
      fail("':' and the type of a tensor of equal elements");
    }
  } else {
    result.op = name("an operator or a number");
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
  for (NumericClass each :
       {NumericClass::BitExact, NumericClass::Reassociates,
        NumericClass::ChangesRange, NumericClass::Discontinuous}) {
    if (word == spell(each)) {
      return each;
    }
  }
  failAt(at,
         "expected bit-exact, reassociates, changes-range or discontinuous, "
         "got '" +
             word + "'");
  return {};
}

void Parser::condition(Rule &rule) {
  Condition result;
  result.comments = takeComments();
  result.at = peek().at;
  result.left = number();
  for (Relation each :
       {Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt,
        Relation::Ge, Relation::Divides, Relation::Broadcasts}) {
    if (accept(spell(each))) {
      result.relation = each;
      result.right = number();
      rule.conditions.push_back(std::move(result));
      return;
    }
  }
  fail("==, !=, <, <=, >, >=, divides or broadcasts");
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
    return failAt(at, "'" + word + "' is given twice in one rule");
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
  } else if (word == "by") {
    do {
      rule.lemmas.push_back(hyphenated("the name of a rule"));
    } while (!failed() && accept(","));
  } else if (word == "generated") {
    rule.isGenerated = true;
  } else if (word == "always") {
    rule.isAlways = true;
  } else if (word == "forward") {
    rule.isForward = true;
  } else if (word == "definition") {
    rule.isDefinition = true;
  } else {
    failAt(at,
           "expected summary, size, shape, int, real, operator, activation, "
           "weight, constant, where, source, target, class, open, by, "
           "generated, always, forward or definition, got '" +
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
  for (std::string &comment : passedComments()) {
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
    if (!failed()) {
      status_ =
          checkLemmas(last, std::span(rules).first(rules.size() - 1), file_);
    }
  }
  // What stands below the last rule would be lost.
  for (std::string &comment : passedComments()) {
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

Expected<std::vector<Rule>>
divisi::rewrite::readRuleFile(const std::string &path) {
  auto text = InputText::readFile(path);
  if (!text) {
    return text.status();
  }
  return parseRules(text->text(), isStdout(path) ? "<stdin>" : path);
}
