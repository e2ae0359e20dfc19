//===- SplitRanks.cpp - One function per set of ranks on the same grids ---===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   func @forward(%x on @a) -> (on @b)      with @a = {0}, @b = {1, 2}
//     %1 = op %x on @a
//     %2 = transfer %1 from @a to @b
//     return %2
//   ->
//   func @forward__0(%x)                    func @forward__1() -> (on @b)
//     %1 = op %x                              %2 = transfer from @a to @b
//     transfer %1 from @a to @b               return %2
//     return
//
// Every function is a subsequence of the entry, and what ranks do together has
// a number that grows in the entry's order: no two ranks wait for each other
// in opposite orders.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/Strategy.h"
#include "passes/Partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/BitVector.h"

#include <map>

#define DEBUG_TYPE "split-ranks"

namespace divisi {
#define GEN_PASS_DEF_SPLITRANKS
#include "passes/Partition/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

namespace {

/// Ranks that belong to the same grids.
struct RankSet {
  SmallVector<int32_t> ranks;           // ascending
  SmallVector<FlatSymbolRefAttr> grids; // in order of first use
  bool contains(FlatSymbolRefAttr grid) const {
    return llvm::is_contained(grids, grid);
  }
};

/// See Passes.td.
class SplitRanksPass : public divisi::impl::SplitRanksBase<SplitRanksPass> {
  void runOnOperation() override;
  LogicalResult split(func::FuncOp entry);
};

} // namespace

// The grids that `op` happens on: two for a transfer, none for a return.
static SmallVector<FlatSymbolRefAttr, 2>
gridsOf(Operation *op, SymbolTableCollection &symbols) {
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    return {transfer.getSourceGridAttr(), transfer.getTargetGridAttr()};
  }
  if (auto step = dyn_cast<StepInterface>(op)) {
    return {step.getGridAttr()};
  }
  if (SplitAttr split = getSplit(op)) {
    return {split.getGrid()};
  }
  if (auto loop = dyn_cast<nn::LoopOp>(op)) {
    PlaceAttr place = spmd::getPlace(loop->getResult(0));
    return place ? SmallVector<FlatSymbolRefAttr, 2>{place.getGrid()}
                 : SmallVector<FlatSymbolRefAttr, 2>{};
  }
  FlatSymbolRefAttr symbol;
  if (auto read = dyn_cast<nn::ReadOp>(op)) {
    symbol = read.getGlobalAttr();
  } else if (auto update = dyn_cast<nn::UpdateOp>(op)) {
    symbol = update.getGlobalAttr();
  } else {
    return {};
  }
  auto global = symbols.lookupNearestSymbolFrom<nn::GlobalOp>(op, symbol);
  PlaceAttr place = global ? spmd::getPlace(global) : PlaceAttr();
  return place ? SmallVector<FlatSymbolRefAttr, 2>{place.getGrid()}
               : SmallVector<FlatSymbolRefAttr, 2>{};
}

// All grids of `entry` in order of first use, or an error for an operation
// that happens nowhere.
static FailureOr<SmallVector<FlatSymbolRefAttr>>
collectGrids(func::FuncOp entry, SymbolTableCollection &symbols) {
  SmallVector<FlatSymbolRefAttr> grids;
  auto add = [&](FlatSymbolRefAttr grid) {
    if (!llvm::is_contained(grids, grid)) {
      grids.push_back(grid);
    }
  };
  auto addPlace = [&](PlaceAttr place, StringRef what, unsigned index) {
    if (!place) {
      return LogicalResult(entry.emitOpError()
                           << what << " " << index
                           << " has no place; expected spmd.place");
    }
    add(place.getGrid());
    return success();
  };
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    if (failed(addPlace(getArgPlace(entry, i), "argument", i))) {
      return failure();
    }
  }
  for (Operation &op : entry.front().without_terminator()) {
    SmallVector<FlatSymbolRefAttr, 2> used = gridsOf(&op, symbols);
    if (used.empty()) {
      return op.emitOpError("is on no grid, so no rank would run it; run "
                            "spmd-partition and spmd-route first");
    }
    llvm::for_each(used, add);
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    if (failed(addPlace(getResultPlace(entry, i), "result", i))) {
      return failure();
    }
  }
  return grids;
}

// The sets, by their smallest rank.
static FailureOr<SmallVector<RankSet>>
collectRankSets(func::FuncOp entry, ArrayRef<FlatSymbolRefAttr> grids) {
  std::map<int64_t, SmallVector<unsigned>> gridsOfRank;
  for (auto [index, symbol] : llvm::enumerate(grids)) {
    FailureOr<GridOp> grid = requireGrid(entry, symbol);
    if (failed(grid)) {
      return failure();
    }
    for (int64_t rank : grid->getDeviceIds()) {
      gridsOfRank[rank].push_back(index);
    }
  }
  SmallVector<RankSet> sets;
  std::map<SmallVector<unsigned>, size_t> setOf;
  for (const auto &[rank, indices] : gridsOfRank) {
    auto [it, inserted] = setOf.try_emplace(indices, sets.size());
    if (inserted) {
      RankSet &set = sets.emplace_back();
      for (unsigned index : indices) {
        set.grids.push_back(grids[index]);
      }
    }
    sets[it->second].ranks.push_back(int32_t(rank));
  }
  return sets;
}

// Numbers what ranks do together.
static void assignTags(func::FuncOp entry) {
  uint64_t tag = 0;
  for (Operation &op : entry.front()) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      transfer.setTag(tag++);
    } else if (auto step = dyn_cast<StepInterface>(op);
               step && !isPure(&op)) { // slices and masks talk to nobody
      step.setTag(tag++);
    }
  }
}

// Notes each argument's and result's index in the entry's signature.
static void assignIndices(func::FuncOp entry) {
  Builder builder(entry.getContext());
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    entry.setArgAttr(i, SPMDDialect::kIndex, builder.getI64IntegerAttr(i));
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    entry.setResultAttr(i, SPMDDialect::kIndex, builder.getI64IntegerAttr(i));
  }
}

namespace {

/// Writes what happens on the grids of one set. One use.
class PartWriter {
public:
  /// Of `entry`, for `set`.
  PartWriter(func::FuncOp entry, const RankSet &set)
      : entry_(entry), set_(set) {}

  /// The part, in no module yet. `gridsOf` says where each operation of the
  /// entry happens, in order.
  FailureOr<OwningOpRef<func::FuncOp>>
  write(ArrayRef<SmallVector<FlatSymbolRefAttr, 2>> gridsOf);

private:
  LogicalResult add(OpBuilder &builder, Operation *op);
  LogicalResult addTransfer(OpBuilder &builder, TransferOp op);
  LogicalResult addReturn(OpBuilder &builder, Operation *op);
  FailureOr<Value> own(Value value, Operation *user);
  bool contains(FlatSymbolRefAttr grid) const { return set_.contains(grid); }

  func::FuncOp entry_;
  const RankSet &set_;
  IRMapping mapping_;
};

} // namespace

// The part's own `value`; an error for one that lies on another grid.
FailureOr<Value> PartWriter::own(Value value, Operation *user) {
  if (Value known = mapping_.lookupOrNull(value)) {
    return known;
  }
  Operation *maker = value.getDefiningOp();
  InFlightDiagnostic diag =
      (maker ? maker : entry_.getOperation())
          ->emitOpError("makes a value that is used on another grid; a "
                        "transfer is missing, see verify-partition");
  diag.attachNote(user->getLoc()) << "it is used here";
  return diag;
}

// Of a transfer only the ends that lie on grids of the set.
LogicalResult PartWriter::addTransfer(OpBuilder &builder, TransferOp op) {
  Value input;
  if (contains(op.getSourceGridAttr())) {
    FailureOr<Value> found = own(op.getInput(), op);
    if (failed(found)) {
      return failure();
    }
    input = *found;
  }
  bool isTarget = op.getOutput() && contains(op.getTargetGridAttr());
  auto made = TransferOp::create(
      builder, op.getLoc(), isTarget ? op.getOutput().getType() : Type(), input,
      op.getSourceGridAttr(), op.getTargetGridAttr(), op.getSourceTypeAttr(),
      op.getTargetTypeAttr(), op.getTagAttr());
  if (isTarget) {
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    mapping_.map(op.getOutput(), made.getOutput());
  }
  return success();
}

// Without the results of other grids.
LogicalResult PartWriter::addReturn(OpBuilder &builder, Operation *op) {
  SmallVector<Value> results;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (!contains(getResultPlace(entry_, index).getGrid())) {
      continue;
    }
    FailureOr<Value> found = own(operand.get(), op);
    if (failed(found)) {
      return failure();
    }
    results.push_back(*found);
  }
  func::ReturnOp::create(builder, op->getLoc(), results);
  return success();
}

LogicalResult PartWriter::add(OpBuilder &builder, Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    return addReturn(builder, op);
  }
  if (auto transfer = dyn_cast<TransferOp>(op)) {
    return addTransfer(builder, transfer);
  }
  for (Value operand : op->getOperands()) {
    if (failed(own(operand, op))) {
      return failure();
    }
  }
  builder.clone(*op, mapping_);
  return success();
}

FailureOr<OwningOpRef<func::FuncOp>>
PartWriter::write(ArrayRef<SmallVector<FlatSymbolRefAttr, 2>> gridsOf) {
  OwningOpRef<func::FuncOp> part =
      cast<func::FuncOp>(entry_->cloneWithoutRegions());
  Block *block = part->addEntryBlock();
  llvm::BitVector arguments(entry_.getNumArguments()),
      results(entry_.getNumResults());
  for (BlockArgument argument : entry_.getArguments()) {
    unsigned index = argument.getArgNumber();
    BlockArgument own = block->getArgument(index);
    own.setLoc(argument.getLoc());
    if (contains(getArgPlace(entry_, index).getGrid())) {
      mapping_.map(argument, own);
    } else {
      arguments.set(index);
    }
  }
  for (unsigned i = 0; i < entry_.getNumResults(); ++i) {
    if (!contains(getResultPlace(entry_, i).getGrid())) {
      results.set(i);
    }
  }
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  for (auto [op, grids] : llvm::zip(entry_.front(), gridsOf)) {
    bool isKept = op.hasTrait<OpTrait::IsTerminator>() ||
                  llvm::any_of(grids, [&](FlatSymbolRefAttr grid) {
                    return contains(grid);
                  });
    if (isKept && failed(add(builder, &op))) {
      return failure();
    }
  }
  if (failed(part->eraseResults(results)) ||
      failed(part->eraseArguments(arguments))) {
    return failure();
  }
  return part;
}

LogicalResult SplitRanksPass::split(func::FuncOp entry) {
  SymbolTableCollection globals;
  FailureOr<SmallVector<FlatSymbolRefAttr>> grids =
      collectGrids(entry, globals);
  if (failed(grids)) {
    return failure();
  }
  FailureOr<SmallVector<RankSet>> sets = collectRankSets(entry, *grids);
  if (failed(sets)) {
    return failure();
  }
  if (nn::isBody(entry) && sets->size() != 1) {
    return entry.emitOpError() << "is on " << grids->size()
                               << " grids, expected a loop's body on one";
  }
  assignTags(entry);
  assignIndices(entry);
  // Parts are written one by one, so of large programs each has what is its own
  // alone from the beginning.
  SmallVector<SmallVector<FlatSymbolRefAttr, 2>> gridsOfOps;
  for (Operation &op : entry.front()) {
    gridsOfOps.push_back(gridsOf(&op, globals));
  }
  SymbolTable symbols(getOperation());
  OpBuilder builder(entry);
  for (auto [index, set] : llvm::enumerate(*sets)) {
    std::string name = (entry.getName() + "__" + Twine(index)).str();
    if (symbols.lookup(name)) {
      return entry.emitOpError() << "needs the name '" << name
                                 << "' for a part, but it is taken; rename";
    }
    auto written = PartWriter(entry, set).write(gridsOfOps);
    if (failed(written)) {
      return failure();
    }
    func::FuncOp part = written->release();
    part.setName(name);
    part->setAttr(SPMDDialect::kEntry, entry.getNameAttr());
    part->setAttr(SPMDDialect::kRanks, builder.getDenseI32ArrayAttr(set.ranks));
    builder.insert(part);
    ++numFunctions;
  }
  entry.erase();
  return success();
}

void SplitRanksPass::runOnOperation() {
  SmallVector<func::FuncOp> entries;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (isEntry(function) && !function->hasAttr(SPMDDialect::kEntry)) {
      entries.push_back(function);
    }
  }
  for (func::FuncOp entry : entries) {
    if (failed(split(entry))) {
      return signalPassFailure();
    }
  }
}
