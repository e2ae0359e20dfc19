//===- RuleNames.cpp - Names in a rule ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/RuleNames.h"

#include "divisi/Rules/ElementTypes.h"
#include "divisi/Rules/RuleText.h"
#include "lib/Rules/RuleLexer.h"

#include <algorithm>
#include <map>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

std::optional<std::vector<std::string>>
divisi::rewrite::shapesInString(const std::string &text) {
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '}') {
      return std::nullopt;
    }
    if (text[at] == '{') {
      size_t end = text.find('}', at);
      if (end == std::string::npos) {
        return std::nullopt;
      }
      names.push_back(text.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return names;
}

std::string divisi::rewrite::renameLetters(const std::string &op,
                                           const std::string &text) {
  if (op == "nn.attention" || text.find("->") == std::string::npos) {
    return text;
  }
  std::map<char, char> names;
  std::string result;
  for (char c : text) {
    bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (isLetter) {
      size_t next = names.size();
      c = names.emplace(c, char(next < 26 ? 'a' + next : 'A' + next - 26))
              .first->second;
    }
    result += c;
  }
  return result;
}

namespace {

/// Checks one rule; the first error is kept.
class NameCheck {
public:
  NameCheck(const Rule &rule, const std::string &file)
      : rule_(rule), file_(file) {}
  Status run();

private:
  enum class Kind : uint8_t { Size, Shape, Int, Real, Operator, Variable };
  /// A name of the rule, and what was seen of it.
  struct Declared {
    Kind kind;
    Position at;
    bool isUsed = false;
    /// Whether a match says what it is: it stands alone in a type of a
    /// variable, in an attribute of the source, or on a side of `==`.
    bool isFound = false;
  };

  void fail(Position at, const std::string &what);
  void declare(Kind kind, const std::string &name, Position at);
  void declareAll();
  Declared *use(Kind kind, const std::string &name, Position at,
                const char *what);
  void checkExpr(const Expr &expr, const std::string &index);
  void checkReal(const Expr &expr);
  void checkNumber(const Expr &expr);
  void checkCondition(const Condition &condition);
  void findAlone(const Expr &expr);
  void checkItems(const Items &items, Position at, bool isFinding);
  void checkType(const TensorType &type, bool isFinding);
  void checkAttribute(const Value &value, const Node &node, bool isSource);
  void checkGraph(const Graph &graph, bool isSource);
  void checkNode(const Node &node, std::map<std::string, bool> &nodes,
                 bool isSource);
  void useValue(const std::string &name, Position at,
                std::map<std::string, bool> &nodes, bool isSource);
  bool isOneOperator() const;
  void checkForm();
  void checkDeclarations();

  const Rule &rule_;
  const std::string &file_;
  std::map<std::string, Declared> declared_;
  Status status_;
};

} // namespace

void NameCheck::fail(Position at, const std::string &what) {
  if (status_.isOk()) {
    status_ = errorAt(file_, at, "'" + rule_.name + "': " + what);
  }
}

void NameCheck::declare(Kind kind, const std::string &name, Position at) {
  if (!declared_.emplace(name, Declared{kind, at}).second) {
    fail(at, "the name '" + name + "' is declared twice");
  }
}

void NameCheck::declareAll() {
  for (auto [kind, names] : {std::pair(Kind::Size, &rule_.sizes),
                             std::pair(Kind::Shape, &rule_.shapes),
                             std::pair(Kind::Int, &rule_.ints),
                             std::pair(Kind::Real, &rule_.reals)}) {
    for (const std::string &name : *names) {
      declare(kind, name, rule_.at);
    }
  }
  for (const OperatorChoice &choice : rule_.operators) {
    declare(Kind::Operator, choice.name, choice.at);
  }
  for (const Variable &variable : rule_.variables) {
    declare(Kind::Variable, variable.name, variable.at);
  }
}

NameCheck::Declared *NameCheck::use(Kind kind, const std::string &name,
                                    Position at, const char *what) {
  auto found = declared_.find(name);
  if (found == declared_.end() || found->second.kind != kind) {
    fail(at, "'" + name + "' is no " + what + " of this rule; expected one " +
                 "that is declared");
    return nullptr;
  }
  found->second.isUsed = true;
  return &found->second;
}

void NameCheck::checkExpr(const Expr &expr, const std::string &index) {
  if (expr.kind == Expr::Kind::Name && expr.name != index) {
    bool isInt =
        declared_.count(expr.name) && declared_.at(expr.name).kind == Kind::Int;
    use(isInt ? Kind::Int : Kind::Size, expr.name, expr.at, "size or int");
  }
  if (expr.kind == Expr::Kind::Rank || expr.kind == Expr::Kind::Extent ||
      expr.kind == Expr::Kind::Count) {
    use(Kind::Shape, expr.name, expr.at, "shape");
  }
  for (const Expr &operand : expr.operands) {
    checkExpr(operand, index);
  }
}

void NameCheck::checkReal(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Real:
  case Expr::Kind::Number:
    return;
  case Expr::Kind::Name:
    use(Kind::Real, expr.name, expr.at, "real");
    return;
  case Expr::Kind::Mul:
  case Expr::Kind::Div:
    checkReal(expr.operands[0]);
    checkReal(expr.operands[1]);
    return;
  default:
    fail(expr.at, "reals are multiplied, divided and compared with reals and "
                  "numbers, got '" +
                      printExpr(expr) + "'");
  }
}

/// An integer, or a real.
void NameCheck::checkNumber(const Expr &expr) {
  if (rule_.isReal(expr)) {
    checkReal(expr);
  } else {
    checkExpr(expr, {});
  }
}

void NameCheck::checkCondition(const Condition &condition) {
  if (rule_.isOfShapes(condition)) {
    use(Kind::Shape, condition.left.name, condition.at, "shape");
    use(Kind::Shape, condition.right.name, condition.at, "shape");
    return;
  }
  checkNumber(condition.left);
  checkNumber(condition.right);
  if (condition.relation == Relation::Eq) {
    findAlone(condition.left);
    findAlone(condition.right);
  }
}

void NameCheck::findAlone(const Expr &expr) {
  auto found = declared_.find(expr.name);
  if (expr.kind == Expr::Kind::Name && found != declared_.end()) {
    found->second.isFound = true;
  }
}

void NameCheck::checkItems(const Items &items, Position at, bool isFinding) {
  for (const Item &item : items) {
    bool isSpread = !item.shape.empty() && item.index.empty();
    if (!item.shape.empty()) {
      Declared *shape = use(Kind::Shape, item.shape, at, "shape");
      if (shape && isSpread && isFinding) {
        shape->isFound = true;
      }
    }
    if (!isSpread) {
      checkExpr(item.value, item.index);
    }
    if (isFinding && item.shape.empty()) {
      findAlone(item.value);
    }
  }
}

void NameCheck::checkType(const TensorType &type, bool isFinding) {
  if (typesOf(type.element).empty()) {
    fail(type.at, "'" + type.element +
                      "' is not an element type; expected float, int, number, "
                      "bool, any, or one type as f32 or i64");
  }
  checkItems(type.shape, type.at, isFinding);
}

void NameCheck::checkAttribute(const Value &value, const Node &node,
                               bool isSource) {
  if (const auto *expr = std::get_if<Expr>(&value)) {
    checkNumber(*expr);
    if (isSource) {
      findAlone(*expr);
    }
  } else if (const auto *items = std::get_if<Items>(&value)) {
    checkItems(*items, node.at, isSource);
  } else if (const auto *text = std::get_if<std::string>(&value)) {
    auto shapes = shapesInString(*text);
    if (!shapes) {
      fail(node.at, "a brace stands alone in " + printValue(value) +
                        "; expected '{' shape '}'");
      return;
    }
    for (const std::string &shape : *shapes) {
      use(Kind::Shape, shape, node.at, "shape");
    }
  }
}

void NameCheck::useValue(const std::string &name, Position at,
                         std::map<std::string, bool> &nodes, bool isSource) {
  auto node = nodes.find(name);
  if (node != nodes.end()) {
    node->second = true;
  } else if (Declared *variable =
                 use(Kind::Variable, name, at, "variable or earlier node")) {
    variable->isFound |= isSource;
  }
}

void NameCheck::checkNode(const Node &node, std::map<std::string, bool> &nodes,
                          bool isSource) {
  auto op = declared_.find(node.op);
  if (op != declared_.end() && op->second.kind == Kind::Operator) {
    op->second.isUsed = true;
    op->second.isFound |= isSource;
  }
  if (node.op.empty()) {
    checkAttribute(node.element, node, isSource);
  }
  for (const std::string &operand : node.operands) {
    useValue(operand, node.at, nodes, isSource);
  }
  for (const auto &[name, value] : node.attributes) {
    checkAttribute(value, node, isSource);
  }
  if (node.type) {
    checkType(*node.type, isSource);
  }
  if (declared_.count(node.name) || !nodes.emplace(node.name, false).second) {
    fail(node.at, "the name '" + node.name + "' is declared twice");
  }
}

void NameCheck::checkGraph(const Graph &graph, bool isSource) {
  std::map<std::string, bool> nodes;
  for (const Node &node : graph.nodes) {
    checkNode(node, nodes, isSource);
  }
  for (const std::string &result : graph.results) {
    useValue(result, graph.at, nodes, isSource);
  }
  for (const Node &node : graph.nodes) {
    auto found = nodes.find(node.name);
    if (found != nodes.end() && !found->second) {
      fail(node.at,
           "nothing needs '" + node.name + "'; return it, or leave it out");
    }
  }
}

/// Whether it is an axiom about one operator, on variables, each once, and
/// equal elements.
bool NameCheck::isOneOperator() const {
  const std::vector<Node> &nodes = rule_.source.nodes;
  if (!rule_.isAxiom || nodes.empty() || nodes.back().op.empty() ||
      rule_.source.results != std::vector<std::string>{nodes.back().name}) {
    return false;
  }
  std::vector<std::string> operands = nodes.back().operands;
  std::sort(operands.begin(), operands.end());
  return std::adjacent_find(operands.begin(), operands.end()) ==
             operands.end() &&
         std::all_of(nodes.begin(), nodes.end() - 1,
                     [](const Node &node) { return node.op.empty(); });
}

void NameCheck::checkForm() {
  if (rule_.source.nodes.empty() && !rule_.isAxiom) {
    fail(rule_.source.at, "the source has no operator, so it would match "
                          "everything");
  }
  if (rule_.source.results.size() != rule_.target.results.size()) {
    fail(rule_.target.at, "the target returns " +
                              std::to_string(rule_.target.results.size()) +
                              " results, expected " +
                              std::to_string(rule_.source.results.size()) +
                              " as the source does");
  }
  if (rule_.isAxiom && (rule_.numericClass || rule_.open || rule_.isGenerated ||
                        rule_.isAlways || !rule_.lemmas.empty())) {
    fail(rule_.at,
         "an axiom is about exact numbers and believed; it has no "
         "class, no lemmas, is not open, not generated and not applied");
  }
  if (!rule_.isAxiom && rule_.isForward) {
    fail(rule_.at, "a rule is used from its source to its target in any case; "
                   "take 'forward' out");
  }
  if (rule_.isDefinition && !isOneOperator()) {
    fail(rule_.at, "a definition is an axiom whose source is one operator, on "
                   "variables and numbers");
  }
  if (!rule_.isAxiom && !rule_.numericClass) {
    fail(rule_.at, "has no class; expected bit-exact, reassociates, "
                   "changes-range or discontinuous");
  }
  Rule reversed = rule_;
  std::swap(reversed.source, reversed.target);
  if (printRule(reversed) == printRule(rule_)) {
    fail(rule_.at, "source and target are the same");
  }
}

void NameCheck::checkDeclarations() {
  for (const auto &[name, declared] : declared_) {
    if (!declared.isUsed) {
      fail(declared.at, "'" + name + "' is declared and not used");
    } else if (!declared.isFound) {
      fail(declared.at,
           declared.kind == Kind::Variable
               ? "the variable '" + name + "' does not occur in the source"
               : "a match does not say what '" + name +
                     "' is; it has to stand alone in the type of a variable, "
                     "in an attribute of the source, or on a side of ==");
    }
  }
}

Status NameCheck::run() {
  declareAll();
  for (const Variable &variable : rule_.variables) {
    checkType(variable.type, true);
  }
  for (const Condition &condition : rule_.conditions) {
    checkCondition(condition);
  }
  checkGraph(rule_.source, true);
  checkGraph(rule_.target, false);
  checkForm();
  checkDeclarations();
  return status_;
}

Status divisi::rewrite::checkNames(const Rule &rule, const std::string &file) {
  return NameCheck(rule, file).run();
}
