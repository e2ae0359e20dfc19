//===- EGraph.cpp - Many programs that compute the same -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Optimize/EGraph.h"

#include "divisi/Optimize/Segments.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::optimize;
using mlir::Operation;
using mlir::OperationEquivalence;
using mlir::Value;

unsigned EGraph::Same::getHashValue(const Operation *op) {
  return unsigned(OperationEquivalence::computeHash(
      const_cast<Operation *>(op), OperationEquivalence::directHashValue,
      OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations));
}

bool EGraph::Same::isEqual(const Operation *a, const Operation *b) {
  if (a == b) {
    return true;
  }
  if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
      b == getTombstoneKey()) {
    return false;
  }
  return OperationEquivalence::isEquivalentTo(
      const_cast<Operation *>(a), const_cast<Operation *>(b),
      OperationEquivalence::exactValueMatch, nullptr,
      OperationEquivalence::IgnoreLocations);
}

EGraph::EGraph(mlir::ModuleOp module, const nn::KnownValues &known,
               const std::set<std::string> &commutative)
    : KnownValues(known), body_(functionOf(module).getBody().front()) {
  for (const std::string &name : commutative) {
    commutative_.insert("nn." + name);
  }
  for (Value argument : body_.getArguments()) {
    addClass(argument);
  }
  for (Operation &op : body_.without_terminator()) {
    note(&op);
  }
  llvm::append_range(roots_, body_.getTerminator()->getOperands());
  isDirty_ = true;
  rebuild();
}

//===----------------------------------------------------------------------===//
// Looking
//===----------------------------------------------------------------------===//

Value EGraph::classOf(Value value) const {
  Value root = value;
  for (auto at = parents_.find(root); at != parents_.end();
       at = parents_.find(root)) {
    root = at->second;
  }
  while (value != root) {
    Value &parent = parents_.find(value)->second;
    value = std::exchange(parent, root);
  }
  return root;
}

llvm::ArrayRef<Operation *> EGraph::nodesOf(Value value) const {
  auto found = classes_.find(classOf(value));
  return found == classes_.end() ? llvm::ArrayRef<Operation *>()
                                 : llvm::ArrayRef(found->second.nodes);
}

std::vector<Operation *> EGraph::named(llvm::StringRef name) const {
  std::vector<Operation *> nodes;
  for (auto [op, classes] : alive_) {
    if (op->getName().getStringRef() == name) {
      nodes.push_back(op);
    }
  }
  return nodes;
}

const Origin *EGraph::originOf(Operation *node) const {
  auto found = origins_.find(node);
  return found == origins_.end() ? nullptr : &found->second;
}

/// Finds the way from one value to another in the tree of their class.
bool EGraph::findReasons(Value from, Value to, Value before,
                         std::vector<const Reason *> &path) const {
  if (from == to) {
    return true;
  }
  auto reasons = reasons_.find(from);
  if (reasons == reasons_.end()) {
    return false;
  }
  for (const Reason &reason : reasons->second) {
    if (reason.to == before) {
      continue;
    }
    path.push_back(&reason);
    if (findReasons(reason.to, to, from, path)) {
      return true;
    }
    path.pop_back();
  }
  return false;
}

void EGraph::explain(Value a, Value b,
                     llvm::function_ref<void(const Origin &)> visit) const {
  std::set<std::pair<const void *, const void *>> seen;
  llvm::SmallVector<std::pair<Value, Value>> open{{a, b}};
  while (!open.empty()) {
    auto [from, to] = open.pop_back_val();
    if (from == to ||
        !seen.insert({from.getAsOpaquePointer(), to.getAsOpaquePointer()})
             .second) {
      continue;
    }
    std::vector<const Reason *> path;
    findReasons(from, to, {}, path);
    for (const Reason *reason : path) {
      if (reason->origin) {
        visit(*reason->origin);
        continue;
      }
      for (auto [read, other] :
           llvm::zip_equal(operandsOf(reason->from.getDefiningOp()),
                           operandsOf(reason->to.getDefiningOp()))) {
        open.emplace_back(read, other);
      }
    }
  }
}

bool EGraph::anyOf(Value value, Visit visit) const {
  return llvm::any_of(nodesOf(value), visit);
}

bool EGraph::anyNamed(llvm::StringRef name, Visit visit) const {
  return llvm::any_of(named(name), visit);
}

bool EGraph::isKnown(Value value) const {
  return classes_.find(classOf(value))->second.isKnown;
}

bool EGraph::isConstant(Value value) const {
  return classes_.find(classOf(value))->second.isConstant;
}

//===----------------------------------------------------------------------===//
// Adding
//===----------------------------------------------------------------------===//

mlir::OpBuilder EGraph::end() { return mlir::OpBuilder(body_.getTerminator()); }

void EGraph::addClass(Value value) {
  Class made;
  made.number = unsigned(classes_.size() + parents_.size());
  if (Operation *op = value.getDefiningOp()) {
    made.nodes = {op};
    // What reads a global, and what is no operator of loops, it knows itself.
    bool hasOperands = op->getNumOperands() != 0;
    bool isPure = llvm::isa<nn::LoopInterface>(op) && op->getNumRegions() == 0;
    made.isKnown = hasOperands
                       ? isPure && llvm::all_of(op->getOperands(),
                                                [&](Value operand) {
                                                  return isKnown(operand);
                                                })
                       : KnownValues::isKnown(value);
    made.isConstant = hasOperands
                          ? isPure && llvm::all_of(op->getOperands(),
                                                   [&](Value operand) {
                                                     return isConstant(operand);
                                                   })
                          : KnownValues::isConstant(value);
  }
  classes_.try_emplace(value, std::move(made));
}

/// Lets the operator read what stands for its operands' classes.
void EGraph::normalise(Operation *op) {
  for (mlir::OpOperand &operand : op->getOpOperands()) {
    operand.set(classOf(operand.get()));
  }
  if (commutative_.count(op->getName().getStringRef().str()) &&
      op->getNumOperands() == 2) {
    auto number = [&](unsigned i) {
      return classes_.find(op->getOperand(i))->second.number;
    };
    if (number(1) < number(0)) {
      Value first = op->getOperand(0);
      op->setOperand(0, op->getOperand(1));
      op->setOperand(1, first);
    }
  }
}

/// Makes a node of an operator.
void EGraph::note(Operation *op) {
  operands_[op].assign(op->operand_begin(), op->operand_end());
  normalise(op);
  for (Value result : op->getResults()) {
    addClass(result);
  }
  all_.push_back(op);
  alive_[op] = op->getNumResults();
  known_.insert(op);
}

/// Makes nodes of what was built, or takes those that are there.
void EGraph::add(rewrite::BuiltTarget &built, const Origin &origin) {
  for (Operation *op : built.operators) {
    llvm::SmallVector<Value, 2> operands(op->getOperands());
    normalise(op);
    auto same = known_.find(op);
    if (same == known_.end()) {
      op->setOperands(operands);
      note(op);
      origins_[op] = origin;
      continue;
    }
    for (auto [result, old] :
         llvm::zip_equal(op->getResults(), (*same)->getResults())) {
      for (Value &value : built.results) {
        value = value == result ? Value(old) : value;
      }
      Value(result).replaceAllUsesWith(old);
    }
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Uniting
//===----------------------------------------------------------------------===//

/// Whether some node of `from` is made of `to`, by whatever way.
bool EGraph::reaches(Value from, Value to) {
  if (from == to) {
    return true;
  }
  auto [at, isNew] = reach_.try_emplace(from, false);
  if (!isNew) {
    return at->second;
  }
  bool does = llvm::any_of(nodesOf(from), [&](Operation *node) {
    return llvm::any_of(node->getOperands(), [&](Value operand) {
      return reaches(classOf(operand), to);
    });
  });
  return reach_[from] = does;
}

/// Takes from `from` what is made of `to`.
void EGraph::cutNodes(Value from, Value to) {
  std::vector<Operation *> &nodes = classes_.find(from)->second.nodes;
  llvm::erase_if(nodes, [&](Operation *node) {
    bool isCut = llvm::any_of(node->getOperands(), [&](Value operand) {
      return reaches(classOf(operand), to);
    });
    if (isCut) {
      kill(node);
    }
    return isCut;
  });
}

/// Notes that the node is in one class less.
void EGraph::kill(Operation *op) {
  auto at = alive_.find(op);
  if (at != alive_.end() && --at->second == 0) {
    alive_.erase(at);
  }
}

/// Says that two values compute the same; whether that is new.
bool EGraph::unite(Value a, Value b, std::optional<Origin> origin) {
  if (classOf(a) == classOf(b)) {
    return false;
  }
  reasons_[a].push_back({a, b, origin});
  reasons_[b].push_back({b, a, std::move(origin)});
  a = classOf(a);
  b = classOf(b);
  if (classes_.find(b)->second.number < classes_.find(a)->second.number) {
    std::swap(a, b);
  }
  // Of two of which one is made of the other, that one stays.
  reach_.clear();
  if (reaches(a, b)) {
    cutNodes(a, b);
    std::swap(a, b);
  } else {
    reach_.clear();
    if (reaches(b, a)) {
      cutNodes(b, a);
    }
  }
  Class gone = std::move(classes_.find(b)->second);
  classes_.erase(b);
  Class &stays = classes_.find(a)->second;
  llvm::append_range(stays.nodes, gone.nodes);
  stays.isKnown |= gone.isKnown;
  stays.isConstant |= gone.isConstant;
  parents_[b] = a;
  isDirty_ = true;
  return true;
}

/// Leaves out `op`, which is the same as `same`.
void EGraph::drop(Operation *op, Operation *same) {
  for (auto [result, old] :
       llvm::zip_equal(op->getResults(), same->getResults())) {
    unite(result, old, std::nullopt);
    auto &nodes = classes_.find(classOf(old))->second.nodes;
    if (llvm::is_contained(nodes, op)) {
      llvm::erase(nodes, op);
      kill(op);
    }
  }
}

bool EGraph::addTarget(rewrite::BuiltTarget built, const Origin &origin,
                       mlir::ValueRange source) {
  size_t before = all_.size();
  add(built, origin);
  bool isNew = all_.size() != before;
  for (auto [result, old] : llvm::zip_equal(built.results, source)) {
    isNew |= unite(old, result, origin);
  }
  return isNew;
}

void EGraph::rebuild() {
  normalise(body_.getTerminator());
  while (std::exchange(isDirty_, false)) {
    known_.clear();
    for (Operation *op : all_) {
      normalise(op);
    }
    for (Operation *op : all_) {
      auto [at, isNew] = known_.insert(op);
      if (!isNew) {
        Operation *same = *at;
        // One of two that are the same stays: one that is in a class.
        if (!alive_.contains(same) && alive_.contains(op)) {
          known_.erase(at);
          known_.insert(op);
          std::swap(op, same);
        }
        drop(op, same);
      }
    }
    llvm::erase_if(all_, [&](Operation *op) {
      return !known_.contains(op) || *known_.find(op) != op;
    });
  }
  normalise(body_.getTerminator());
}
