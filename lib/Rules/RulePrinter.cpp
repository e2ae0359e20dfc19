//===- RulePrinter.cpp - The text of a rule -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/RuleText.h"

#include <charconv>

using namespace divisi::rewrite;

/// How tightly an expression holds together.
static int strength(Expr::Kind kind) {
  switch (kind) {
  case Expr::Kind::Add:
  case Expr::Kind::Sub:
    return 1;
  case Expr::Kind::Mul:
  case Expr::Kind::Div:
    return 2;
  default:
    return 3;
  }
}

/// The shortest text that is read as the same number, and as no integer.
static std::string printReal(double value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

/// In parentheses where what stands around it holds tighter than `least`.
static std::string printInside(const Expr &expr, int least) {
  std::string text = printExpr(expr);
  return strength(expr.kind) < least ? "(" + text + ")" : text;
}

std::string divisi::rewrite::printExpr(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Number:
    return std::to_string(expr.value);
  case Expr::Kind::Name:
    return expr.name;
  case Expr::Kind::Rank:
    return "rank(" + expr.name + ")";
  case Expr::Kind::Count:
    return "count(" + expr.name + ")";
  case Expr::Kind::Real:
    return printReal(expr.real);
  case Expr::Kind::Extent:
    return expr.name + "[" + printExpr(expr.operands[0]) + "]";
  default:
    break;
  }
  int own = strength(expr.kind);
  const char *sign = expr.kind == Expr::Kind::Add   ? " + "
                     : expr.kind == Expr::Kind::Sub ? " - "
                     : expr.kind == Expr::Kind::Mul ? " * "
                                                    : " / ";
  return printInside(expr.operands[0], own) + sign +
         printInside(expr.operands[1], own + 1);
}

static std::string printItem(const Item &item) {
  if (item.shape.empty()) {
    return printExpr(item.value);
  }
  return item.index.empty() ? item.shape + "..."
                            : printExpr(item.value) + " for " + item.index +
                                  " in " + item.shape;
}

static std::string printItems(const Items &items) {
  std::string text = "[";
  for (const Item &item : items) {
    text += (text.size() > 1 ? ", " : "") + printItem(item);
  }
  return text + "]";
}

static std::string printQuoted(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return quoted + "\"";
}

std::string divisi::rewrite::printValue(const Value &value) {
  if (const auto *expr = std::get_if<Expr>(&value)) {
    return printExpr(*expr);
  }
  if (const auto *real = std::get_if<double>(&value)) {
    return printReal(*real);
  }
  if (const auto *flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  if (const auto *text = std::get_if<std::string>(&value)) {
    return printQuoted(*text);
  }
  return printItems(std::get<Items>(value));
}

static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

static std::string printType(const TensorType &type) {
  return type.element + printItems(type.shape);
}

static std::string printComments(const std::vector<std::string> &comments,
                                 const std::string &indent) {
  std::string text;
  for (const std::string &comment : comments) {
    text += indent + "//" + (comment.empty() ? "" : " ") + comment + "\n";
  }
  return text;
}

static std::string printNode(const Node &node) {
  std::string text = node.name + " = ";
  if (node.op.empty()) {
    text += printValue(node.element);
  } else {
    text += node.op + "(" + join(node.operands) + ")";
  }
  for (size_t i = 0; i != node.attributes.size(); ++i) {
    const auto &[name, value] = node.attributes[i];
    text += (i == 0 ? " {" : ", ") + name + " = " + printValue(value);
  }
  text += node.attributes.empty() ? "" : "}";
  return node.type ? text + " : " + printType(*node.type) : text;
}

static std::string printGraph(const char *side, const Graph &graph) {
  std::string text = std::string("  ") + side + " {\n";
  for (const Node &node : graph.nodes) {
    text +=
        printComments(node.comments, "    ") + "    " + printNode(node) + "\n";
  }
  return text + "    return " + join(graph.results) + "\n  }\n";
}

static std::string printNames(const char *what,
                              const std::vector<std::string> &names) {
  return names.empty() ? "" : "  " + std::string(what) + join(names) + "\n";
}

std::string divisi::rewrite::printRule(const Rule &rule) {
  std::string text = printComments(rule.comments, "");
  text += (rule.isAxiom ? "axiom " : "rule ") + rule.name + " {\n";
  text += "  summary " + printQuoted(rule.summary) + "\n";
  text += printNames("size ", rule.sizes) + printNames("shape ", rule.shapes) +
          printNames("int ", rule.ints) + printNames("real ", rule.reals);
  for (const OperatorChoice &choice : rule.operators) {
    text += "  operator " + choice.name + ": " + join(choice.operators) + "\n";
  }
  for (const Variable &variable : rule.variables) {
    text += printComments(variable.comments, "  ") + "  " +
            spell(variable.kind) + " " + variable.name + ": " +
            printType(variable.type) + "\n";
  }
  for (const Condition &condition : rule.conditions) {
    text += printComments(condition.comments, "  ") + "  where " +
            printExpr(condition.left) + " " + spell(condition.relation) + " " +
            printExpr(condition.right) + "\n";
  }
  text += printGraph("source", rule.source) + printGraph("target", rule.target);
  if (rule.numericClass) {
    text += std::string("  class ") + spell(*rule.numericClass) + "\n";
  }
  text += rule.open ? "  open " + printQuoted(*rule.open) + "\n" : "";
  text += printNames("by ", rule.lemmas);
  text += rule.isGenerated ? "  generated\n" : "";
  text += rule.isAlways ? "  always\n" : "";
  text += rule.isForward ? "  forward\n" : "";
  text += rule.isDefinition ? "  definition\n" : "";
  return text + "}\n";
}

std::string divisi::rewrite::printRules(const std::vector<Rule> &rules) {
  std::string text;
  for (const Rule &rule : rules) {
    text += (text.empty() ? "" : "\n") + printRule(rule);
  }
  return text;
}
