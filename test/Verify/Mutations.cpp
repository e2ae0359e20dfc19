//===- Mutations.cpp - Small lies in partitioned programs -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MutationLister.h"

#include "LayoutVariants.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

/// All operations, each before what it contains: the same numbers in a copy.
static std::vector<Operation *> numbered(ModuleOp module) {
  std::vector<Operation *> ops;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  return ops;
}

MutationLister::MutationLister(ModuleOp module)
    : module_(module), ops_(numbered(module)) {}

void MutationLister::add(size_t index, const std::string &what, Change change) {
  std::string where = ops_[index]->getName().getStringRef().str();
  if (auto function = ops_[index]->getParentOfType<func::FuncOp>()) {
    where = function.getName().str() + " " + where;
  }
  mutations_.push_back({where + " #" + std::to_string(index) + ": " + what,
                        [index, change](ModuleOp copy) {
                          return change(numbered(copy)[index]);
                        }});
}

bool divisi::setLayout(Value value, const Layout &layout) {
  RankedTensorType type =
      typeWithLayout(cast<RankedTensorType>(value.getType()), layout);
  if (!type || type == value.getType()) {
    return false;
  }
  value.setType(type);
  auto function =
      dyn_cast<func::FuncOp>(value.getParentRegion()->getParentOp());
  if (function) {
    function.setType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(),
        function.front().getTerminator()->getOperandTypes()));
  }
  return true;
}

void MutationLister::listValueLayouts(size_t index) {
  for (OpResult result : ops_[index]->getResults()) {
    LocalAttr local = getLocal(result.getType());
    unsigned number = result.getResultNumber();
    for (const Layout &layout : layoutVariants(
             local.getGrid(), local.getGlobalShape(), local.getLayout())) {
      std::string text = layout.str(local.getGrid());
      add(index, "result lies as " + text, [=](Operation *op) {
        return setLayout(op->getResult(number), layout);
      });
      if (isa<TransferOp>(ops_[index])) {
        add(index, "target lies as " + text, [=](Operation *op) {
          bool isSet = setLayout(op->getResult(number), layout);
          cast<TransferOp>(op).setTargetType(
              cast<RankedTensorType>(op->getResult(number).getType()));
          return isSet;
        });
      }
    }
  }
}

std::vector<FlatSymbolRefAttr>
MutationLister::gridsBeside(FlatSymbolRefAttr grid) {
  std::vector<FlatSymbolRefAttr> others;
  for (auto other : module_.getOps<GridOp>()) {
    if (other.getRef() != grid) {
      others.push_back(other.getRef());
    }
  }
  return others;
}

void MutationLister::listSplits(size_t index) {
  SplitAttr attr = getSplit(ops_[index]);
  auto loops = dyn_cast<nn::LoopInterface>(ops_[index]);
  if (!attr || !loops) {
    return;
  }
  auto addSplit = [&](FlatSymbolRefAttr grid, const NamedSplit &split,
                      const std::string &what) {
    add(index, what, [=](Operation *op) {
      op->setAttr(SPMDDialect::kSplit,
                  SplitAttr::get(op->getContext(), grid, split));
      return true;
    });
  };
  Grid grid = lookupGrid(ops_[index], attr.getGrid()).getValue();
  for (const auto &[split, what] :
       splitVariants(grid, loops.getLoopNest(), attr.getSplit())) {
    addSplit(attr.getGrid(), split, what);
  }
  for (FlatSymbolRefAttr other : gridsBeside(attr.getGrid())) {
    addSplit(other, attr.getSplit(), "split on " + other.getValue().str());
  }
}

/// Replaces a step by one of another kind.
static bool setKind(Operation *op, StepKind kind) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), ("spmd." + stringifyStepKind(kind)).str());
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  state.addAttributes(op->getAttrs());
  Operation *other = builder.create(state);
  op->getResult(0).replaceAllUsesWith(other->getResult(0));
  op->erase();
  return true;
}

void MutationLister::listStep(size_t index) {
  auto step = dyn_cast<StepInterface>(ops_[index]);
  if (!step) {
    return;
  }
  Grid grid = lookupGrid(step, step.getGridAttr()).getValue();
  for (const auto &names : nameVariants(grid, step.getAxesAttr())) {
    std::string text;
    llvm::raw_string_ostream(text) << "axes " << names;
    add(index, text, [=](Operation *op) {
      op->setAttr("axes", names);
      return true;
    });
  }
  for (StepKind kind : {StepKind::Slice, StepKind::Mask, StepKind::AllGather,
                        StepKind::AllToAll, StepKind::AllReduce,
                        StepKind::ReduceScatter, StepKind::Exchange}) {
    if (kind != step.getStepKind()) {
      add(index, "is a " + stringifyStepKind(kind).str(),
          [=](Operation *op) { return setKind(op, kind); });
    }
  }
  for (FlatSymbolRefAttr other : gridsBeside(step.getGridAttr())) {
    add(index, "on the grid " + other.getValue().str(), [=](Operation *op) {
      op->setAttr("grid", other);
      return true;
    });
  }
  add(index, "does not happen", [](Operation *op) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
    return true;
  });
}

void MutationLister::listTransfer(size_t index) {
  auto transfer = dyn_cast<TransferOp>(ops_[index]);
  if (!transfer) {
    return;
  }
  for (FlatSymbolRefAttr other : gridsBeside(transfer.getSourceGridAttr())) {
    add(index, "from " + other.getValue().str(), [=](Operation *op) {
      cast<TransferOp>(op).setSourceGridAttr(other);
      return true;
    });
  }
  for (FlatSymbolRefAttr other : gridsBeside(transfer.getTargetGridAttr())) {
    add(index, "to " + other.getValue().str(), [=](Operation *op) {
      cast<TransferOp>(op).setTargetGridAttr(other);
      return true;
    });
  }
  for (bool isSource : {true, false}) {
    auto type = isSource ? transfer.getFrom() : transfer.getTo();
    LocalAttr local = getLocal(type);
    for (const Layout &layout : layoutVariants(
             local.getGrid(), local.getGlobalShape(), local.getLayout())) {
      RankedTensorType changed = typeWithLayout(type, layout);
      add(index,
          (isSource ? "source type " : "target type ") +
              layout.str(local.getGrid()),
          [=](Operation *op) {
            if (!changed) {
              return false;
            }
            auto transfer = cast<TransferOp>(op);
            isSource ? transfer.setSourceType(changed)
                     : transfer.setTargetType(changed);
            return true;
          });
    }
  }
  if (!transfer.getOutput()) {
    add(index, "does not happen", [](Operation *op) {
      op->erase();
      return true;
    });
  }
}

/// The values of the function that `op` could use: arguments and results of
/// what stands before it.
static std::vector<Value> visibleTo(Operation *op) {
  Block *block = op->getBlock();
  std::vector<Value> values(block->getArguments().begin(),
                            block->getArguments().end());
  for (Operation &before : *block) {
    if (&before == op) {
      break;
    }
    llvm::append_range(values, before.getResults());
  }
  return values;
}

void MutationLister::listOperands(size_t index) {
  Operation *op = ops_[index];
  for (OpOperand &operand : op->getOpOperands()) {
    std::vector<Value> visible = visibleTo(op);
    unsigned number = operand.getOperandNumber();
    for (size_t i = 0; i < visible.size(); ++i) {
      auto element = [](Value value) {
        return cast<RankedTensorType>(value.getType()).getElementType();
      };
      if (visible[i] == operand.get() ||
          element(visible[i]) != element(operand.get())) {
        continue;
      }
      add(index,
          "operand " + std::to_string(number) + " is value " +
              std::to_string(i),
          [=](Operation *op) {
            op->setOperand(number, visibleTo(op)[i]);
            return true;
          });
    }
  }
  if (isa<nn::UpdateOp>(op)) {
    add(index, "does not happen", [](Operation *op) {
      op->erase();
      return true;
    });
  }
}

static bool talks(Operation *op) {
  return isa<TransferOp>(op) || (isa<StepInterface>(op) && !isPure(op));
}

/// What `op` does next with others, or null.
static Operation *nextTalk(Operation *op) {
  do {
    op = op->getNextNode();
  } while (op && !talks(op));
  return op;
}

static void swapTags(Operation *a, Operation *b) {
  Attribute tag = a->getAttr("tag");
  a->setAttr("tag", b->getAttr("tag"));
  b->setAttr("tag", tag);
}

/// Moves `later` before `earlier` with all that it needs; false if it needs
/// `earlier`.
static bool hoist(Operation *later, Operation *earlier) {
  for (Value operand : later->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    if (maker == earlier ||
        (maker && earlier->isBeforeInBlock(maker) && !hoist(maker, earlier))) {
      return false;
    }
  }
  later->moveBefore(earlier);
  return true;
}

void MutationLister::listOrder(size_t index) {
  if (!talks(ops_[index])) {
    return;
  }
  add(index, "has no tag", [](Operation *op) {
    op->removeAttr("tag");
    return true;
  });
  for (int64_t shift : {-1, 1, 100}) {
    add(index, "tag shifted by " + std::to_string(shift), [=](Operation *op) {
      int64_t tag = op->getAttrOfType<IntegerAttr>("tag").getInt();
      op->setAttr("tag",
                  Builder(op->getContext()).getI64IntegerAttr(tag + shift));
      return true;
    });
  }
  if (!nextTalk(ops_[index])) {
    return;
  }
  add(index, "swaps tags with the next", [](Operation *op) {
    swapTags(op, nextTalk(op));
    return true;
  });
  add(index, "comes after the next",
      [](Operation *op) { return hoist(nextTalk(op), op); });
  add(index, "changes places with the next", [](Operation *op) {
    Operation *next = nextTalk(op);
    swapTags(op, next);
    return hoist(next, op);
  });
}

std::vector<Mutation> MutationLister::run() {
  for (size_t index = 0; index < ops_.size(); ++index) {
    listValueLayouts(index);
    listSplits(index);
    listStep(index);
    listTransfer(index);
    listOperands(index);
    listOrder(index);
    listFunction(index);
    listGrid(index);
    listGlobal(index);
  }
  return std::move(mutations_);
}

std::vector<Mutation> divisi::listMutations(ModuleOp module) {
  return MutationLister(module).run();
}
