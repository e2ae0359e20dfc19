//===- Mutations.cpp - Small lies in partitioned programs -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

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

namespace {

class MutationLister {
public:
  explicit MutationLister(ModuleOp module)
      : module_(module), ops_(numbered(module)) {}
  std::vector<Mutation> run();

private:
  using Change = std::function<bool(Operation *)>;

  /// Adds a change of operation `index`.
  void add(size_t index, const std::string &what, Change change);
  void listValueLayouts(size_t index);
  void listSplits(size_t index);
  void listStep(size_t index);
  void listTransfer(size_t index);
  void listOperands(size_t index);
  void listOrder(size_t index);
  void listFunction(size_t index);
  void listSignature(size_t index, func::FuncOp function);
  void listGrid(size_t index);
  void listGlobal(size_t index);

  std::vector<FlatSymbolRefAttr> gridsBeside(FlatSymbolRefAttr grid);

  ModuleOp module_;
  std::vector<Operation *> ops_;
  std::vector<Mutation> mutations_;
};

} // namespace

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

/// Gives `value` the layout, or returns false if no type can say it.
static bool setLayout(Value value, const Layout &layout) {
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

/// The place that says `layout` on the grid called `grid`.
static PlaceAttr placeOf(Operation *op, FlatSymbolRefAttr grid,
                         const Layout &layout, ArrayRef<int64_t> shape) {
  GridOp gridOp = lookupGrid(op, grid);
  if (layout.verify(gridOp.getValue(), shape)) {
    return {};
  }
  return makePlace(gridOp, shape, layout);
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

void MutationLister::listSignature(size_t index, func::FuncOp function) {
  auto list = [&](bool isArgument, unsigned number, PlaceAttr place,
                  Type type) {
    std::string what =
        (isArgument ? "argument " : "result ") + std::to_string(number);
    StringRef key = SPMDDialect::kPlace;
    LocalAttr local = getLocal(type);
    auto setPlaceAttr = [=](Operation *op, Attribute attr) {
      auto function = cast<func::FuncOp>(op);
      isArgument ? function.setArgAttr(number, key, attr)
                 : function.setResultAttr(number, key, attr);
    };
    for (const Layout &layout : layoutVariants(
             local.getGrid(), local.getGlobalShape(), local.getLayout())) {
      std::string text = layout.str(local.getGrid());
      SmallVector<int64_t> shape(local.getGlobalShape());
      auto changePlace = [=](Operation *op) {
        PlaceAttr changed = placeOf(op, place.getGrid(), layout, shape);
        if (changed) {
          setPlaceAttr(op, changed);
        }
        return bool(changed);
      };
      add(index, what + " has the place " + text, changePlace);
      if (isArgument) {
        auto changeType = [=](Operation *op) {
          return setLayout(cast<func::FuncOp>(op).getArgument(number), layout);
        };
        add(index, what + " lies as " + text, changeType);
        add(index, what + " lies and has the place " + text,
            [=](Operation *op) { return changePlace(op) && changeType(op); });
      }
    }
    for (FlatSymbolRefAttr other : gridsBeside(place.getGrid())) {
      add(index, what + " on " + other.getValue().str(), [=](Operation *op) {
        setPlaceAttr(op, PlaceAttr::get(op->getContext(), other,
                                        place.getNames(), place.getLayout()));
        return true;
      });
    }
    for (int64_t other : {0, 1, 2}) {
      add(index, what + " is number " + std::to_string(other),
          [=](Operation *op) {
            auto function = cast<func::FuncOp>(op);
            Attribute attr = Builder(op->getContext()).getI64IntegerAttr(other);
            Attribute old =
                isArgument
                    ? function.getArgAttr(number, SPMDDialect::kIndex)
                    : function.getResultAttr(number, SPMDDialect::kIndex);
            isArgument
                ? function.setArgAttr(number, SPMDDialect::kIndex, attr)
                : function.setResultAttr(number, SPMDDialect::kIndex, attr);
            return attr != old;
          });
    }
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    list(true, i, getArgPlace(function, i), function.getArgumentTypes()[i]);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    list(false, i, getResultPlace(function, i), function.getResultTypes()[i]);
  }
}

void MutationLister::listFunction(size_t index) {
  auto function = dyn_cast<func::FuncOp>(ops_[index]);
  if (!function) {
    return;
  }
  listSignature(index, function);
  auto ranks = function->getAttrOfType<DenseI32ArrayAttr>(SPMDDialect::kRanks);
  auto addRanks = [&](const std::string &what, std::vector<int32_t> changed) {
    add(index, what, [=](Operation *op) {
      op->setAttr(SPMDDialect::kRanks,
                  DenseI32ArrayAttr::get(op->getContext(), changed));
      return true;
    });
  };
  std::vector<int32_t> all(ranks.asArrayRef().begin(),
                           ranks.asArrayRef().end());
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<int32_t> fewer = all, others = all;
    fewer.erase(fewer.begin() + i);
    others[i] += 1;
    addRanks("without rank " + std::to_string(all[i]), fewer);
    addRanks("another rank for " + std::to_string(all[i]), others);
  }
  all.push_back(all.back() + 1);
  addRanks("a rank more", all);
  add(index, "belongs to another entry", [](Operation *op) {
    op->setAttr(SPMDDialect::kEntry,
                StringAttr::get(op->getContext(), "other"));
    return true;
  });
}

void MutationLister::listGrid(size_t index) {
  auto grid = dyn_cast<GridOp>(ops_[index]);
  if (!grid) {
    return;
  }
  SmallVector<int64_t> devices = grid.getDeviceIds();
  auto addDevices = [&](const std::string &what, SmallVector<int64_t> changed) {
    add(index, what, [=](Operation *op) {
      cast<GridOp>(op).setDevices(ArrayRef<int64_t>(changed));
      return true;
    });
  };
  SmallVector<int64_t> reversed(llvm::reverse(devices)), shifted = devices;
  for (int64_t &device : shifted) {
    ++device;
  }
  addDevices("devices reversed", reversed);
  addDevices("devices shifted", shifted);
  for (size_t i = 0; i < grid.getAxisSizes().size(); ++i) {
    for (int64_t by : {-1, 1}) {
      SmallVector<int64_t> sizes(grid.getAxisSizes());
      sizes[i] += by;
      add(index, "axis size " + std::to_string(sizes[i]), [=](Operation *op) {
        cast<GridOp>(op).setAxisSizes(sizes);
        return true;
      });
    }
    add(index, "axis renamed", [=](Operation *op) {
      SmallVector<Attribute> names(cast<GridOp>(op).getAxisNames().getValue());
      names[i] = StringAttr::get(op->getContext(), "renamed");
      cast<GridOp>(op).setAxisNamesAttr(
          ArrayAttr::get(op->getContext(), names));
      return true;
    });
  }
}

void MutationLister::listGlobal(size_t index) {
  auto global = dyn_cast<nn::GlobalOp>(ops_[index]);
  if (!global) {
    return;
  }
  PlaceAttr place = getPlace(global);
  Grid grid = lookupGrid(global, place.getGrid()).getValue();
  RankedTensorType type = global.getTensorType();
  auto layout = resolvePlace(place, grid, type.getShape(),
                             [&]() { return global.emitOpError(); });
  for (const Layout &variant : layoutVariants(grid, type.getShape(), *layout)) {
    std::string text = variant.str(grid);
    auto change = [=](Operation *op) {
      PlaceAttr changed =
          placeOf(op, place.getGrid(), variant, type.getShape());
      if (changed) {
        setPlace(cast<nn::GlobalOp>(op), changed);
      }
      return bool(changed);
    };
    add(index, "has the place " + text, change);
    add(index, "is read and has the place " + text, [=](Operation *op) {
      bool isSet = change(op);
      op->getParentOfType<ModuleOp>().walk([&](nn::ReadOp read) {
        if (read.getGlobal() == cast<nn::GlobalOp>(op).getSymName()) {
          isSet &= setLayout(read.getValue(), variant);
        }
      });
      return isSet;
    });
  }
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
