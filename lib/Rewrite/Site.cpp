//===- Site.cpp - A place where a rule may be applied ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Site.h"

#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"
#include "divisi/Rules/Effort.h"
#include "divisi/Rules/GraphBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::rewrite;
using llvm::is_contained;
using mlir::Operation;

static Status declined(const std::string &why) {
  return Status(ExitCode::Invalid, why);
}

/// Of a match whose target has no place.
static Status tooLate() {
  return declined("what it reads is made after others read its results");
}

std::vector<mlir::Value>
divisi::rewrite::sourceResults(const SourceMatch &match,
                               const CallGraph &source) {
  std::vector<mlir::Value> results;
  for (size_t number : source.results) {
    size_t variables = match.variables.size();
    results.push_back(number < variables
                          ? match.variables[number]
                          : match.nodes[number - variables]->getResult(0));
  }
  return results;
}

Site::Site(const Rule &rule, const SourceMatch &match, const Binding &binding,
           const nn::KnownValues &known)
    : rule_(rule), match_(match), binding_(binding), known_(known) {
  results_ = sourceResults(match, binding.source);
  findKept();
}

static Status checkVariables(const Rule &rule, const SourceMatch &match,
                             const Binding &binding,
                             const nn::KnownValues &known) {
  for (size_t i = 0; i != rule.variables.size(); ++i) {
    const Variable &variable = rule.variables[i];
    mlir::Value value = match.variables[i];
    bool fits =
        variable.kind == VariableKind::Activation ||
        (variable.kind == VariableKind::Weight ? known.isKnown(value)
                                               : known.isConstant(value));
    if (!fits) {
      return declined("'" + variable.name + "' is no " + spell(variable.kind));
    }
  }
  for (const auto &[word, type] : binding.types) {
    bool isNarrow = rt::isFloatType(type) && rt::byteWidth(type) < 4;
    if (isNarrow && rule.numericClass == NumericClass::ChangesRange) {
      return declined("it changes the range, of which " +
                      std::string(rt::stringify(type)) + " has little");
    }
    if (isNarrow && rule.numericClass == NumericClass::Discontinuous) {
      return declined("rounding may turn over what it decides, and " +
                      std::string(rt::stringify(type)) + " rounds much");
    }
  }
  return Status();
}

/// Whether the operator is one of the source that the target replaces.
bool Site::isGone(Operation *op) const {
  auto at = llvm::find(match_.nodes, op);
  return at != match_.nodes.end() && !kept_[size_t(at - match_.nodes.begin())];
}

/// Inner nodes that others read stay, and so does what these are made of.
void Site::findKept() {
  kept_.assign(match_.nodes.size(), false);
  for (size_t i = match_.nodes.size(); i-- != 0;) {
    Operation *op = match_.nodes[i];
    kept_[i] = !is_contained(results_, op->getResult(0)) &&
               !llvm::all_of(op->getUsers(),
                             [&](Operation *user) { return isGone(user); });
  }
}

Status Site::checkEffort(const CallGraph &target,
                         const std::vector<bool> &known) const {
  if (takesLess(target, binding_.source, known, kept_)) {
    return Status();
  }
  for (size_t i = 0; i != kept_.size(); ++i) {
    const Node &node = rule_.source.nodes[i];
    if (kept_[i] && !node.op.empty() &&
        takesLess(target, binding_.source, known)) {
      return declined("others read '" + node.name + "' too");
    }
  }
  return declined("it would not take less");
}

static std::vector<bool> knownVariables(const SourceMatch &match,
                                        const nn::KnownValues &values) {
  std::vector<bool> known;
  for (mlir::Value variable : match.variables) {
    known.push_back(values.isKnown(variable));
  }
  return known;
}

/// Whether the target may be where the source is.
static Status checkTarget(const Binding &binding, const CallGraph &target,
                          const std::vector<bool> &known) {
  std::vector<bool> before = knownValues(binding.source, known);
  std::vector<bool> after = knownValues(target, known);
  Instance instance{binding.variables, binding.source, target};
  for (auto [source, result] :
       llvm::zip_equal(binding.source.results, target.results)) {
    if (!(instance.form(instance.source, source) ==
          instance.form(instance.target, result))) {
      return declined("the target has another type");
    }
    // What reads a result would be computed in every run, too.
    if (before[source] && !after[result]) {
      return declined("a result would no longer be the same in every run");
    }
  }
  return Status();
}

Expected<CallGraph> divisi::rewrite::targetAt(const Rule &rule,
                                              const SourceMatch &match,
                                              const Binding &binding,
                                              const nn::KnownValues &known,
                                              Instantiator &instantiator) {
  if (Status status = checkVariables(rule, match, binding, known);
      !status.isOk()) {
    return status;
  }
  auto target = instantiator.instantiate(rule, rule.target, binding.variables,
                                         binding.assignment, binding.types);
  if (!target) {
    return target.status();
  }
  Status status = checkTarget(binding, *target, knownVariables(match, known));
  return status.isOk() ? std::move(target) : Expected<CallGraph>(status);
}

Status Site::check(Instantiator &instantiator, bool mustTakeLess) {
  auto target = targetAt(rule_, match_, binding_, known_, instantiator);
  if (!target) {
    return target.status();
  }
  if (mustTakeLess) {
    Status status = checkEffort(*target, knownVariables(match_, known_));
    if (!status.isOk()) {
      return status;
    }
  }
  return findPlace() ? Status() : tooLate();
}

/// Before which operator the target can stand: behind all that it reads, or
/// that can be moved before it, and before all that reads its results. Null if
/// there is none.
Operation *Site::findPlace() const {
  Operation *place = nullptr;
  for (mlir::Value result : results_) {
    Operation *op = result.getDefiningOp();
    if (!is_contained(match_.nodes, op)) {
      return nullptr;
    }
    place = !place || op->isBeforeInBlock(place) ? op : place;
  }
  mlir::Block *block = place->getBlock();
  for (mlir::Value variable : match_.variables) {
    Operation *op = variable.getDefiningOp();
    if (is_contained(results_, variable)) {
      return nullptr;
    }
    if (op && op->getBlock() == block && !op->isBeforeInBlock(place) &&
        !known_.isKnown(variable)) {
      place = op->getNextNode();
    }
  }
  for (mlir::Value result : results_) {
    for (Operation *user : result.getUsers()) {
      Operation *at = block->findAncestorOpInBlock(*user);
      if (!isGone(user) && at->isBeforeInBlock(place)) {
        return nullptr;
      }
    }
  }
  return place;
}

/// Moves what makes a known value before an operator, unless the source makes
/// it.
bool Site::hoist(mlir::Value value, Operation *before) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != before->getBlock() ||
      op->isBeforeInBlock(before)) {
    return true;
  }
  if (is_contained(match_.nodes, op) ||
      !llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
        return hoist(operand, before);
      })) {
    return false;
  }
  op->moveBefore(before);
  return true;
}

/// What the target makes belongs to the scope of the source's first result.
void Site::keepScope(llvm::ArrayRef<Operation *> made) const {
  for (Operation *op : made) {
    nn::copyScope(results_.front().getDefiningOp(), op);
  }
}

std::vector<mlir::Location> Site::locations() const {
  std::vector<mlir::Location> all;
  for (mlir::Value result : results_) {
    all.push_back(result.getLoc());
  }
  return all;
}

/// The rules that led to the source, and this one.
std::vector<std::string> Site::chain() const {
  std::vector<std::string> rules;
  for (Operation *op : match_.nodes) {
    llvm::append_range(rules, nn::rulesOf(op->getLoc()));
  }
  rules.push_back(rule_.name);
  return rules;
}

Status Site::apply(bool isNoted) {
  Operation *place = findPlace();
  if (!llvm::all_of(match_.variables,
                    [&](mlir::Value value) { return hoist(value, place); })) {
    return tooLate();
  }
  mlir::OpBuilder builder(place);
  GraphBuilder graph(builder, results_.front().getLoc(), binding_.assignment,
                     binding_.types);
  auto target = graph.run(rule_, rule_.target, match_.variables);
  if (!target) {
    for (Operation *op : llvm::reverse(graph.operators())) {
      op->erase();
    }
    return target.status();
  }
  keepScope(graph.operators());
  std::vector<std::string> rules =
      isNoted ? chain() : std::vector<std::string>();
  for (auto [result, number] : llvm::zip_equal(results_, target->results)) {
    mlir::Value value = graph.value(number);
    if (is_contained(graph.operators(), value.getDefiningOp())) {
      value.getDefiningOp()->setLoc(result.getLoc());
    }
    result.replaceAllUsesWith(value);
  }
  for (Operation *op : graph.operators()) {
    op->setLoc(nn::withRules(op->getLoc(), rules));
  }
  llvm::SmallVector<Operation *> nodes;
  for (Operation *op : match_.nodes) {
    if (!is_contained(nodes, op)) {
      nodes.push_back(op);
    }
  }
  llvm::sort(nodes,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : nodes) {
    if (op->use_empty()) {
      op->erase();
    }
  }
  return Status();
}
