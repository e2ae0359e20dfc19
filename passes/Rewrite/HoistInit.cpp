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
#include "dialects/NN/Known.h"
#include "passes/Rewrite/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

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
  Hoister(ModuleOp module, func::FuncOp entry, const nn::KnownValues &known,
          SymbolTable &symbols)
      : module_(module), entry_(entry),
        hoisted_(nn::hoistedOperators(entry.front(), known)),
        symbols_(symbols) {}

  int64_t run();

private:
  func::FuncOp initFunction();
  void addSource(Operation *source, OpBuilder &init, IRMapping &map) const;
  std::string nameFor(Value value) const;
  void derive(Value value, OpBuilder &init, IRMapping &map);

  ModuleOp module_;
  func::FuncOp entry_;
  nn::HoistedOperators hoisted_;
  SymbolTable &symbols_;
};

} // namespace

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
    return !hoisted_.known.contains(use.getOwner()) ||
           hoisted_.kept.contains(use.getOwner());
  });
}

/// Takes a constant or a global to @init. What a derived one is, @init has
/// computed.
void Hoister::addSource(Operation *source, OpBuilder &init,
                        IRMapping &map) const {
  if (auto read = dyn_cast<nn::ReadOp>(source)) {
    for (auto update : init.getBlock()->getOps<nn::UpdateOp>()) {
      if (update.getGlobal() == read.getGlobal()) {
        map.map(read.getValue(), update.getValue());
        return;
      }
    }
  }
  init.clone(*source, map);
}

int64_t Hoister::run() {
  if (hoisted_.derived.empty()) {
    return 0;
  }
  OpBuilder init(initFunction().getBody().front().getTerminator());
  IRMapping map;
  llvm::SetVector<Operation *> needed(hoisted_.derived.begin(),
                                      hoisted_.derived.end());
  for (size_t i = 0; i != needed.size(); ++i) {
    for (Value operand : needed[i]->getOperands()) {
      needed.insert(operand.getDefiningOp());
    }
  }
  for (Operation *op : hoisted_.known) {
    if (needed.contains(op)) {
      for (Value operand : op->getOperands()) {
        if (!map.contains(operand)) {
          addSource(operand.getDefiningOp(), init, map);
        }
      }
      init.clone(*op, map);
    }
  }
  for (Operation *op : hoisted_.derived) {
    derive(op->getResult(0), init, map);
  }
  int64_t count = 0;
  for (Operation *op : llvm::reverse(hoisted_.known)) {
    if (op->use_empty()) {
      op->erase();
      ++count;
    }
  }
  return count;
}

namespace {

class HoistInitPass : public divisi::impl::HoistInitBase<HoistInitPass> {
public:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    adoptShapes(module);
    nn::KnownValues known(module);
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
      numHoisted += Hoister(module, entry, known, symbols).run();
    }
    dropUnread(module, symbols);
  }

private:
  static void adoptShapes(ModuleOp module);
  static void dropUnread(ModuleOp module, SymbolTable &symbols);
};

} // namespace

/// Derived globals whose values others are made of, and which no entry needs.
void HoistInitPass::dropUnread(ModuleOp module, SymbolTable &symbols) {
  llvm::StringSet<> needed;
  module.walk([&](nn::ReadOp read) {
    if (read->use_empty()) {
      read.erase();
    } else {
      needed.insert(read.getGlobal());
    }
  });
  auto init = symbols.lookup<func::FuncOp>(nn::kInitFunction);
  if (!init) {
    return;
  }
  for (auto update : llvm::make_early_inc_range(init.getOps<nn::UpdateOp>())) {
    auto global = symbols.lookup<nn::GlobalOp>(update.getGlobal());
    if (global && global.getKind() == nn::GlobalKind::Derived &&
        !needed.contains(update.getGlobal())) {
      update.erase();
      symbols.erase(global);
    }
  }
}

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
