//===- HoistInit.cpp - Compute parameters' own expressions once -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   @forward: %w = read @w; %t = mul %w, %s; … %t …
//   becomes
//   @init:    %w = read @w; %t = mul %w, %s; update @w.derived, %t
//   @forward: %t = read @w.derived; … %t …
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Functions.h"
#include "passes/Rewrite/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace divisi {
#define GEN_PASS_DEF_HOISTINIT
#include "passes/Rewrite/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

namespace {

/// Moves what one entry function can spare.
class Hoister {
public:
  Hoister(ModuleOp module, func::FuncOp entry,
          const std::set<std::string> &updated, SymbolTable &symbols)
      : module_(module), entry_(entry), updated_(updated), symbols_(symbols) {}

  int64_t run();

private:
  bool isSource(Operation &op) const;
  bool isHoisted(Operation &op) const;
  func::FuncOp initFunction();
  std::string nameFor(Value value) const;
  void derive(Value value, OpBuilder &init, IRMapping &map);

  ModuleOp module_;
  func::FuncOp entry_;
  const std::set<std::string> &updated_;
  SymbolTable &symbols_;
  llvm::SetVector<Operation *> known_;
};

} // namespace

bool Hoister::isSource(Operation &op) const {
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    auto global = symbols_.lookup<nn::GlobalOp>(read.getGlobal());
    return global && global.getKind() != nn::GlobalKind::State &&
           !updated_.count(read.getGlobal().str());
  }
  return isa<nn::ConstantOp>(op);
}

static int64_t countOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

bool Hoister::isHoisted(Operation &op) const {
  if (op.getNumOperands() == 0 || op.getNumResults() != 1 ||
      !isa<nn::LoopInterface>(op)) {
    return false;
  }
  int64_t read = 0;
  for (Value operand : op.getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (!source || !known_.contains(source)) {
      return false;
    }
    read += countOf(operand);
  }
  return countOf(op.getResult(0)) <= read;
}

func::FuncOp Hoister::initFunction() {
  if (auto init = symbols_.lookup<func::FuncOp>(nn::kInitFunction)) {
    return init;
  }
  OpBuilder builder(entry_);
  auto init =
      func::FuncOp::create(builder, module_.getLoc(), nn::kInitFunction,
                           builder.getFunctionType(TypeRange(), TypeRange()));
  builder.setInsertionPointToStart(init.addEntryBlock());
  func::ReturnOp::create(builder, module_.getLoc());
  symbols_.insert(init);
  return init;
}

/// After the first global that the value comes from.
std::string Hoister::nameFor(Value value) const {
  std::string base = "constant";
  for (Operation *op = value.getDefiningOp(); op;) {
    if (auto read = dyn_cast<nn::ReadOp>(op)) {
      base = read.getGlobal().str();
      break;
    }
    Operation *next = nullptr;
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (source && !isa<nn::ConstantOp>(source)) {
        next = source;
        break;
      }
    }
    op = next;
  }
  std::string name = base + ".derived";
  for (int i = 1; symbols_.lookup(name); ++i) {
    name = base + ".derived_" + std::to_string(i);
  }
  return name;
}

/// Makes `value`, which @init computes, a derived global of the entry.
void Hoister::derive(Value value, OpBuilder &init, IRMapping &map) {
  std::string name = nameFor(value);
  OpBuilder globals(module_.getBody(), module_.getBody()->begin());
  for (nn::GlobalOp global : module_.getOps<nn::GlobalOp>()) {
    globals.setInsertionPointAfter(global);
  }
  auto global = nn::GlobalOp::create(
      globals, value.getLoc(), globals.getStringAttr(name),
      nn::GlobalKindAttr::get(module_.getContext(), nn::GlobalKind::Derived),
      TypeAttr::get(value.getType()), StringAttr(), IntegerAttr(),
      IntegerAttr(), UnitAttr());
  symbols_.insert(global);
  auto symbol = FlatSymbolRefAttr::get(module_.getContext(), name);
  nn::UpdateOp::create(init, value.getLoc(), symbol, map.lookup(value));
  OpBuilder entry(value.getDefiningOp());
  auto read =
      nn::ReadOp::create(entry, value.getLoc(), value.getType(), symbol);
  value.replaceUsesWithIf(read.getValue(), [&](OpOperand &use) {
    return !known_.contains(use.getOwner());
  });
}

int64_t Hoister::run() {
  SmallVector<Operation *> hoisted;
  for (Operation &op : entry_.getOps()) {
    if (isSource(op)) {
      known_.insert(&op);
    } else if (isHoisted(op)) {
      known_.insert(&op);
      hoisted.push_back(&op);
    }
  }
  if (hoisted.empty()) {
    return 0;
  }
  OpBuilder init(initFunction().getBody().front().getTerminator());
  IRMapping map;
  for (Operation *op : hoisted) {
    for (Value operand : op->getOperands()) {
      if (!map.contains(operand)) {
        init.clone(*operand.getDefiningOp(), map);
      }
    }
    init.clone(*op, map);
  }
  for (Operation *op : hoisted) {
    bool isWanted = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return !known_.contains(user);
    });
    if (isWanted) {
      derive(op->getResult(0), init, map);
    }
  }
  for (Operation *op : llvm::reverse(hoisted)) {
    op->erase();
  }
  return static_cast<int64_t>(hoisted.size());
}

namespace {

class HoistInitPass : public divisi::impl::HoistInitBase<HoistInitPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    adoptShapes(module);
    std::set<std::string> updated;
    auto entries = [&] {
      SmallVector<func::FuncOp> result;
      for (auto function : module.getOps<func::FuncOp>()) {
        if (nn::isEntry(function)) {
          result.push_back(function);
        }
      }
      return result;
    }();
    for (func::FuncOp entry : entries) {
      for (auto update : entry.getOps<nn::UpdateOp>()) {
        updated.insert(update.getGlobal().str());
      }
    }
    for (func::FuncOp entry : entries) {
      numHoisted += Hoister(module, entry, updated, symbols).run();
    }
  }

private:
  static void adoptShapes(ModuleOp module);
};

} // namespace

/// A global whose every use is a reshape to one shape gets that shape: its
/// bytes are the same, and nothing has to be computed.
void HoistInitPass::adoptShapes(ModuleOp module) {
  std::map<std::string, SmallVector<Operation *>> users;
  for (auto function : module.getOps<func::FuncOp>()) {
    for (Operation &op : function.getOps()) {
      if (auto read = dyn_cast<nn::ReadOp>(op)) {
        auto &list = users[read.getGlobal().str()];
        llvm::append_range(list, op.getUsers());
      } else if (auto update = dyn_cast<nn::UpdateOp>(op)) {
        users[update.getGlobal().str()].push_back(&op);
      }
    }
  }
  for (auto global : module.getOps<nn::GlobalOp>()) {
    auto &list = users[global.getSymName().str()];
    bool agree = !list.empty() && llvm::all_of(list, [&](Operation *user) {
      return isa<nn::ReshapeOp>(user) &&
             user->getResult(0).getType() == list[0]->getResult(0).getType();
    });
    if (!agree) {
      continue;
    }
    Type type = list[0]->getResult(0).getType();
    global.setTypeAttr(TypeAttr::get(type));
    for (Operation *user : list) {
      user->getOperand(0).setType(cast<RankedTensorType>(type));
      user->getResult(0).replaceAllUsesWith(user->getOperand(0));
      user->erase();
    }
  }
}
