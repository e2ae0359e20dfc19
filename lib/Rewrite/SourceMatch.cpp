//===- SourceMatch.cpp - Matches of the source of a rule ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/SourceMatch.h"

#include "dialects/NN/NN.h"

#include <algorithm>
#include <map>

using namespace divisi;
using namespace divisi::rewrite;
using mlir::Operation;

std::set<std::string>
divisi::rewrite::commutativeOperators(const std::vector<Rule> &axioms) {
  std::set<std::string> result;
  for (const Rule &axiom : axioms) {
    if (axiom.source.nodes.size() != 1 || axiom.target.nodes.size() != 1) {
      continue;
    }
    for (const Rule &rule : withOperators(axiom)) {
      const Node &a = rule.source.nodes[0], &b = rule.target.nodes[0];
      std::vector<std::string> turned(b.operands.rbegin(), b.operands.rend());
      if (a.op == b.op && a.operands.size() == 2 && a.operands == turned &&
          a.operands[0] != a.operands[1] && a.attributes.empty() &&
          b.attributes.empty()) {
        result.insert(a.op);
      }
    }
  }
  return result;
}

/// The nodes that no other node reads, in order.
static std::vector<size_t> sinksOf(const Graph &graph) {
  std::set<std::string> read;
  for (const Node &node : graph.nodes) {
    read.insert(node.operands.begin(), node.operands.end());
  }
  std::vector<size_t> sinks;
  for (size_t i = 0; i != graph.nodes.size(); ++i) {
    if (!read.count(graph.nodes[i].name)) {
      sinks.push_back(i);
    }
  }
  return sinks;
}

const std::string &divisi::rewrite::rootOperator(const Rule &rule) {
  return rule.source.nodes[sinksOf(rule.source).front()].op;
}

namespace {

/// Looks for one source from one root: what has to be what is a list of goals,
/// and each choice is taken back when what follows fails.
class Finder {
public:
  Finder(const Rule &rule, const Definitions &definitions,
         const std::set<std::string> &commutative,
         llvm::function_ref<bool(const SourceMatch &)> visit)
      : rule_(rule), definitions_(definitions), commutative_(commutative),
        visit_(visit), sinks_(sinksOf(rule.source)) {
    for (size_t i = 0; i != rule.variables.size(); ++i) {
      variables_[rule.variables[i].name] = i;
    }
    for (size_t i = 0; i != rule.source.nodes.size(); ++i) {
      nodes_[rule.source.nodes[i].name] = i;
    }
    match_.nodes.resize(rule.source.nodes.size());
    match_.variables.resize(rule.variables.size());
  }

  bool run(Operation *root);

private:
  /// That the operand of this name is that value.
  using Goal = std::pair<std::string, mlir::Value>;

  bool solve(std::vector<Goal> goals, size_t sink);
  bool nextSink(size_t sink);
  bool solveNode(size_t node, Operation *op, std::vector<Goal> goals,
                 size_t sink);

  const Rule &rule_;
  const Definitions &definitions_;
  const std::set<std::string> &commutative_;
  llvm::function_ref<bool(const SourceMatch &)> visit_;
  std::vector<size_t> sinks_;
  std::map<std::string, size_t> variables_, nodes_;
  SourceMatch match_;
};

} // namespace

static mlir::DenseElementsAttr splatOf(Operation *op) {
  auto constant = llvm::dyn_cast<nn::ConstantOp>(op);
  auto value =
      constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue())
               : mlir::DenseElementsAttr();
  bool isNumber = value && value.isSplat() &&
                  (llvm::isa<mlir::FloatType>(value.getElementType()) ||
                   value.getElementType().isSignlessInteger());
  return isNumber ? value : mlir::DenseElementsAttr();
}

std::optional<double> divisi::rewrite::splatElement(Operation *op) {
  mlir::DenseElementsAttr value = splatOf(op);
  if (!value) {
    return std::nullopt;
  }
  return llvm::isa<mlir::FloatType>(value.getElementType())
             ? value.getSplatValue<llvm::APFloat>().convertToDouble()
             : double(value.getSplatValue<llvm::APInt>().getSExtValue());
}

bool divisi::rewrite::isSplatOf(Operation *op, double element) {
  mlir::DenseElementsAttr value = splatOf(op);
  if (!value) {
    return false;
  }
  auto type = llvm::dyn_cast<mlir::FloatType>(value.getElementType());
  return type ? value.getSplatValue<llvm::APFloat>() ==
                    mlir::FloatAttr::get(type, element).getValue()
              : *splatElement(op) == element;
}

/// Whether the operator may be what `node`, of equal elements, says.
static bool isSplat(Operation *op, const Node &node) {
  const auto *element = std::get_if<double>(&node.element);
  return element ? isSplatOf(op, *element) : splatElement(op).has_value();
}

bool Finder::solveNode(size_t node, Operation *op, std::vector<Goal> goals,
                       size_t sink) {
  const Node &wanted = rule_.source.nodes[node];
  if (match_.nodes[node]) {
    return match_.nodes[node] == op && solve(std::move(goals), sink);
  }
  bool isEqualElements = wanted.op.empty();
  bool fits = isEqualElements
                  ? isSplat(op, wanted)
                  : op->getName().getStringRef() == "nn." + wanted.op &&
                        op->getNumOperands() == wanted.operands.size() &&
                        op->getNumResults() == 1;
  bool isTaken = std::find(match_.nodes.begin(), match_.nodes.end(), op) !=
                 match_.nodes.end();
  if (!fits || (isTaken && !isEqualElements)) {
    return false;
  }
  match_.nodes[node] = op;
  size_t before = goals.size();
  for (size_t i = 0; i != wanted.operands.size(); ++i) {
    goals.emplace_back(wanted.operands[i], op->getOperand(unsigned(i)));
  }
  bool found = solve(goals, sink);
  if (!found && commutative_.count(wanted.op)) {
    std::swap(goals[before].second, goals[before + 1].second);
    found = solve(std::move(goals), sink);
  }
  match_.nodes[node] = found ? match_.nodes[node] : nullptr;
  return found;
}

bool Finder::solve(std::vector<Goal> goals, size_t sink) {
  if (goals.empty()) {
    return nextSink(sink + 1);
  }
  auto [name, value] = goals.back();
  goals.pop_back();
  auto variable = variables_.find(name);
  if (variable == variables_.end()) {
    return definitions_.anyOf(value, [&](Operation *op) {
      return solveNode(nodes_.at(name), op, goals, sink);
    });
  }
  mlir::Value &bound = match_.variables[variable->second];
  if (bound) {
    return bound == value && solve(std::move(goals), sink);
  }
  bound = value;
  bool found = solve(std::move(goals), sink);
  if (!found) {
    match_.variables[variable->second] = nullptr;
  }
  return found;
}

bool Finder::nextSink(size_t sink) {
  if (sink == sinks_.size()) {
    return visit_(match_);
  }
  const std::string &name = rule_.source.nodes[sinks_[sink]].op;
  return definitions_.anyNamed(
      name.empty() ? "nn.constant" : "nn." + name,
      [&](Operation *op) { return solveNode(sinks_[sink], op, {}, sink); });
}

bool Finder::run(Operation *root) {
  return solveNode(sinks_.front(), root, {}, 0);
}

namespace {

/// What a program says: each value has one operator.
class BlockDefinitions : public Definitions {
public:
  explicit BlockDefinitions(mlir::Block &block) : block_(block) {}

  bool anyOf(mlir::Value value, Visit visit) const override {
    Operation *op = value.getDefiningOp();
    return op && op->getBlock() == &block_ && visit(op);
  }
  bool anyNamed(llvm::StringRef name, Visit visit) const override {
    return llvm::any_of(block_, [&](Operation &op) {
      return op.getName().getStringRef() == name && visit(&op);
    });
  }

private:
  mlir::Block &block_;
};

} // namespace

bool divisi::rewrite::findSource(
    const Rule &rule, Operation *root, const std::set<std::string> &commutative,
    llvm::function_ref<bool(const SourceMatch &)> visit) {
  return findSource(rule, root, BlockDefinitions(*root->getBlock()),
                    commutative, visit);
}

bool divisi::rewrite::findSource(
    const Rule &rule, Operation *root, const Definitions &definitions,
    const std::set<std::string> &commutative,
    llvm::function_ref<bool(const SourceMatch &)> visit) {
  return Finder(rule, definitions, commutative, visit).run(root);
}
