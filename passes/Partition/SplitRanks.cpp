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
static SmallVector<FlatSymbolRefAttr, 2> gridsOf(Operation *op) {
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
  auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(op, symbol);
  PlaceAttr place = global ? spmd::getPlace(global) : PlaceAttr();
  return place ? SmallVector<FlatSymbolRefAttr, 2>{place.getGrid()}
               : SmallVector<FlatSymbolRefAttr, 2>{};
}

// All grids of `entry` in order of first use, or an error for an operation
// that happens nowhere.
static FailureOr<SmallVector<FlatSymbolRefAttr>>
collectGrids(func::FuncOp entry) {
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
    SmallVector<FlatSymbolRefAttr, 2> used = gridsOf(&op);
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

// Drops the results of other grids; what makes them is dropped after them.
static LogicalResult restrictResults(func::FuncOp function,
                                     const RankSet &set) {
  Operation *ret = function.front().getTerminator();
  llvm::BitVector results(function.getNumResults());
  for (unsigned i = function.getNumResults(); i-- > 0;) {
    if (!set.contains(getResultPlace(function, i).getGrid())) {
      results.set(i);
      ret->eraseOperand(i);
    }
  }
  return function.eraseResults(results);
}

// A value that is used on a grid that it does not lie on.
static LogicalResult expectUnused(Operation *op, Value value) {
  if (value.use_empty()) {
    return success();
  }
  InFlightDiagnostic diag =
      op->emitOpError("makes a value that is used on another grid; a transfer "
                      "is missing, see verify-partition");
  diag.attachNote((*value.user_begin())->getLoc()) << "it is used here";
  return diag;
}

static LogicalResult restrictArguments(func::FuncOp function,
                                       const RankSet &set) {
  llvm::BitVector arguments(function.getNumArguments());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (!set.contains(getArgPlace(function, i).getGrid())) {
      arguments.set(i);
      if (failed(expectUnused(function, function.getArgument(i)))) {
        return failure();
      }
    }
  }
  return function.eraseArguments(arguments);
}

// Leaves of a transfer the ends that lie on grids of the set.
static LogicalResult restrictTransfer(TransferOp op, const RankSet &set) {
  if (!set.contains(op.getSourceGridAttr())) {
    op.getInputMutable().clear();
  }
  if (set.contains(op.getTargetGridAttr()) || !op.getOutput()) {
    return success();
  }
  if (failed(expectUnused(op, op.getOutput()))) {
    return failure();
  }
  OpBuilder builder(op);
  TransferOp::create(builder, op.getLoc(), Type(), op.getInput(),
                     op.getSourceGridAttr(), op.getTargetGridAttr(),
                     op.getSourceTypeAttr(), op.getTargetTypeAttr(),
                     op.getTagAttr());
  op.erase();
  return success();
}

// Keeps what happens on grids of the set. From the end, so that users go
// before what they use.
static LogicalResult restrict(func::FuncOp function, const RankSet &set) {
  if (failed(restrictResults(function, set))) {
    return failure();
  }
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front()))) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      continue;
    }
    bool kept = llvm::any_of(gridsOf(&op), [&](FlatSymbolRefAttr grid) {
      return set.contains(grid);
    });
    if (!kept) {
      for (Value result : op.getResults()) {
        if (failed(expectUnused(&op, result))) {
          return failure();
        }
      }
      op.erase();
    } else if (auto transfer = dyn_cast<TransferOp>(op);
               transfer && failed(restrictTransfer(transfer, set))) {
      return failure();
    }
  }
  return restrictArguments(function, set);
}

LogicalResult SplitRanksPass::split(func::FuncOp entry) {
  FailureOr<SmallVector<FlatSymbolRefAttr>> grids = collectGrids(entry);
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
  SymbolTable symbols(getOperation());
  OpBuilder builder(entry);
  for (auto [index, set] : llvm::enumerate(*sets)) {
    std::string name = (entry.getName() + "__" + Twine(index)).str();
    if (symbols.lookup(name)) {
      return entry.emitOpError() << "needs the name '" << name
                                 << "' for a part, but it is taken; rename";
    }
    auto part = cast<func::FuncOp>(builder.clone(*entry));
    part.setName(name);
    part->setAttr(SPMDDialect::kEntry, entry.getNameAttr());
    part->setAttr(SPMDDialect::kRanks, builder.getDenseI32ArrayAttr(set.ranks));
    if (failed(restrict(part, set))) {
      return failure();
    }
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
