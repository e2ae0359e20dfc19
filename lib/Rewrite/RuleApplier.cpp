//===- RuleApplier.cpp - Matching and applying rules ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Known.h"
#include "dialects/NN/NN.h"
#include "divisi/Rewrite/Apply.h"
#include "divisi/Rules/Effort.h"
#include "divisi/Rules/GraphBuilder.h"
#include "lib/Rewrite/Binding.h"
#include "lib/Rewrite/SourceMatch.h"

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

namespace {

/// A match of one rule, its binding, and what its target is there.
class Site {
public:
  Site(const Rule &rule, const SourceMatch &match, const Binding &binding,
       const nn::KnownValues &known)
      : rule_(rule), match_(match), binding_(binding), known_(known) {
    for (size_t number : binding.source.results) {
      size_t variables = rule.variables.size();
      results_.push_back(number < variables
                             ? match.variables[number]
                             : match.nodes[number - variables]->getResult(0));
    }
    findKept();
  }

  /// Fails, saying why, where the rule may not be applied.
  Status check(Instantiator &instantiator);
  /// Puts the target in the source's place.
  Status apply();
  /// Where the results are.
  std::vector<mlir::Location> locations() const;

private:
  Status checkVariables() const;
  void findKept();
  bool isGone(Operation *op) const;
  Status checkEffort(const CallGraph &target,
                     const std::vector<bool> &known) const;
  Status checkTarget(const CallGraph &target) const;
  Operation *findPlace() const;
  bool hoist(mlir::Value value, Operation *before) const;
  void keepScope(llvm::ArrayRef<Operation *> made) const;

  const Rule &rule_;
  const SourceMatch &match_;
  const Binding &binding_;
  const nn::KnownValues &known_;
  std::vector<mlir::Value> results_; ///< Of the source.
  std::vector<bool> kept_;           ///< Of its nodes: what others need.
};

} // namespace

Status Site::checkVariables() const {
  for (size_t i = 0; i != rule_.variables.size(); ++i) {
    const Variable &variable = rule_.variables[i];
    mlir::Value value = match_.variables[i];
    bool fits =
        variable.kind == VariableKind::Activation ||
        (variable.kind == VariableKind::Weight ? known_.isKnown(value)
                                               : known_.isConstant(value));
    if (!fits) {
      return declined("'" + variable.name + "' is no " + spell(variable.kind));
    }
  }
  for (const auto &[word, type] : binding_.types) {
    bool isNarrow = rt::isFloatType(type) && rt::byteWidth(type) < 4;
    if (isNarrow && rule_.numericClass == NumericClass::ChangesRange) {
      return declined("it changes the range, of which " +
                      std::string(rt::stringify(type)) + " has little");
    }
    if (isNarrow && rule_.numericClass == NumericClass::Discontinuous) {
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

Status Site::checkTarget(const CallGraph &target) const {
  std::vector<bool> known;
  for (mlir::Value variable : match_.variables) {
    known.push_back(known_.isKnown(variable));
  }
  std::vector<bool> before = knownValues(binding_.source, known);
  std::vector<bool> after = knownValues(target, known);
  Instance instance{binding_.variables, binding_.source, target};
  for (auto [source, result] :
       llvm::zip_equal(binding_.source.results, target.results)) {
    if (!(instance.form(instance.source, source) ==
          instance.form(instance.target, result))) {
      return declined("the target has another type");
    }
    // What reads a result would be computed in every run, too.
    if (before[source] && !after[result]) {
      return declined("a result would no longer be the same in every run");
    }
  }
  return checkEffort(target, known);
}

Status Site::check(Instantiator &instantiator) {
  if (Status status = checkVariables(); !status.isOk()) {
    return status;
  }
  auto target =
      instantiator.instantiate(rule_, rule_.target, binding_.variables,
                               binding_.assignment, binding_.types);
  if (!target) {
    return target.status();
  }
  if (Status status = checkTarget(*target); !status.isOk()) {
    return status;
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
  static constexpr llvm::StringLiteral name = "nn.scope";
  Operation *first = results_.front().getDefiningOp();
  if (mlir::Attribute scope = first->getDiscardableAttr(name)) {
    for (Operation *op : made) {
      op->setDiscardableAttr(name, scope);
    }
  }
}

std::vector<mlir::Location> Site::locations() const {
  std::vector<mlir::Location> all;
  for (mlir::Value result : results_) {
    all.push_back(result.getLoc());
  }
  return all;
}

Status Site::apply() {
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
  for (auto [result, number] : llvm::zip_equal(results_, target->results)) {
    mlir::Value value = graph.value(number);
    if (is_contained(graph.operators(), value.getDefiningOp())) {
      value.getDefiningOp()->setLoc(result.getLoc());
    }
    result.replaceAllUsesWith(value);
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

//===----------------------------------------------------------------------===//
// All places
//===----------------------------------------------------------------------===//

struct RuleApplier::Impl {
  Impl(const std::vector<ProvedRule> &rules, const std::vector<Rule> &axioms,
       const nn::KnownValues &known)
      : rules(rules), commutative(commutativeOperators(axioms)), known(known) {}

  Status tryAt(const ProvedRule &proved, Operation *root, Place *applied);
  bool applyOnce(const ProvedRule &proved, llvm::StringRef root,
                 mlir::func::FuncOp function);
  void tellOfRest(const ProvedRule &proved, llvm::StringRef root,
                  mlir::func::FuncOp function);

  const std::vector<ProvedRule> &rules;
  std::set<std::string> commutative;
  const nn::KnownValues &known;
  Instantiator instantiator;
  const std::function<void(const Place &)> *tell = nullptr;
};

RuleApplier::RuleApplier(const std::vector<ProvedRule> &rules,
                         const std::vector<Rule> &axioms,
                         const nn::KnownValues &known)
    : impl_(std::make_unique<Impl>(rules, axioms, known)) {}
RuleApplier::~RuleApplier() = default;

/// Finds the first match from `root` where the rule may be applied; if
/// `applied` is there, that is done, and told it. Otherwise fails, with the
/// reason of the last match, or without if there is no match.
Status RuleApplier::Impl::tryAt(const ProvedRule &proved, Operation *root,
                                Place *applied) {
  Status status(ExitCode::Invalid, "");
  findSource(proved.rule, root, commutative, [&](const SourceMatch &match) {
    auto binding = bindNames(proved, match, instantiator);
    if (!binding) {
      status = binding.status();
      return false;
    }
    Site site(proved.rule, match, *binding, known);
    status = site.check(instantiator);
    if (status.isOk() && applied) {
      applied->results = site.locations();
      status = site.apply();
    }
    return status.isOk();
  });
  return status;
}

bool RuleApplier::Impl::applyOnce(const ProvedRule &proved,
                                  llvm::StringRef root,
                                  mlir::func::FuncOp function) {
  return function
      .walk([&](Operation *op) {
        if (op->getName().getStringRef() != root) {
          return mlir::WalkResult::advance();
        }
        Place place{proved, op->getLoc(), "", {}};
        if (!tryAt(proved, op, &place).isOk()) {
          return mlir::WalkResult::advance();
        }
        (*tell)(place);
        return mlir::WalkResult::interrupt();
      })
      .wasInterrupted();
}

void RuleApplier::Impl::tellOfRest(const ProvedRule &proved,
                                   llvm::StringRef root,
                                   mlir::func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (op->getName().getStringRef() != root) {
      return;
    }
    Status status = tryAt(proved, op, nullptr);
    if (!status.message().empty()) {
      (*tell)({proved, op->getLoc(), status.message(), {}});
    }
  });
}

int64_t RuleApplier::run(mlir::func::FuncOp function,
                         const std::function<void(const Place &)> &tell) {
  impl_->tell = &tell;
  int64_t count = 0;
  std::vector<std::string> roots;
  for (const ProvedRule &proved : impl_->rules) {
    roots.push_back("nn." + rootOperator(proved.rule));
  }
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (auto [proved, root] : llvm::zip_equal(impl_->rules, roots)) {
      while (impl_->applyOnce(proved, root, function)) {
        isChanged = true;
        ++count;
      }
    }
  }
  for (auto [proved, root] : llvm::zip_equal(impl_->rules, roots)) {
    impl_->tellOfRest(proved, root, function);
  }
  return count;
}
