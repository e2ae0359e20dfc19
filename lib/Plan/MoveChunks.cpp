//===- MoveChunks.cpp - Operators on the grids of their chunks ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveChunks.h"

#include "StageSums.h"
#include "dialects/NN/Bodies.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;

namespace divisi::plan {

/// Where the operator is that makes `value`; -1 if that is not known.
static int64_t chunkOfValue(Value value,
                            const llvm::DenseMap<Operation *, int64_t> &chunks) {
  Operation *maker = value.getDefiningOp();
  auto known = maker ? chunks.find(maker) : chunks.end();
  return known == chunks.end() ? -1 : known->second;
}

/// A body runs where the loop stands that runs it.
static void spreadToBodies(func::FuncOp entry,
                           llvm::DenseMap<Operation *, int64_t> &chunks) {
  for (auto loop : entry.front().getOps<nn::LoopOp>()) {
    auto body = cast<func::FuncOp>(
        nn::lookupBody(loop, loop.getBodyAttr()).getOperation());
    int64_t chunk = chunks.lookup(loop);
    chunks[body] = chunk;
    for (Operation &inner : body.front()) {
      chunks[&inner] = chunk;
    }
    spreadToBodies(body, chunks);
  }
}

void spreadChunks(func::FuncOp entry, ChunkOfNode chunkOfNode,
                  llvm::DenseMap<Operation *, int64_t> &chunks) {
  llvm::StringMap<int64_t> globals; // the first chunk that reads one
  for (Operation &op : entry.front()) {
    if (std::optional<int64_t> chunk = chunkOfNode(&op)) {
      chunks[&op] = *chunk;
    }
  }
  for (auto read : entry.front().getOps<nn::ReadOp>()) {
    for (Operation *user : read.getValue().getUsers()) {
      if (auto known = chunks.find(user); known != chunks.end()) {
        auto [chunk, isNew] =
            globals.try_emplace(read.getGlobal(), known->second);
        chunk->second = std::min(chunk->second, known->second);
      }
    }
  }
  for (Operation &op : llvm::reverse(entry.front())) {
    if (chunks.contains(&op)) {
      continue;
    }
    std::optional<int64_t> chunk;
    if (auto update = dyn_cast<nn::UpdateOp>(op)) {
      if (auto known = globals.find(update.getGlobal());
          known != globals.end()) {
        chunk = known->second;
      }
    }
    for (Operation *user : op.getUsers()) {
      if (auto known = chunks.find(user); known != chunks.end()) {
        chunk = std::min(chunk.value_or(known->second), known->second);
      }
    }
    if (chunk) {
      chunks[&op] = *chunk;
    }
  }
  for (Operation &op : entry.front()) {
    if (chunks.contains(&op)) {
      continue;
    }
    int64_t chunk = 0;
    for (Value operand : op.getOperands()) {
      chunk = std::max(chunk, chunkOfValue(operand, chunks));
    }
    chunks[&op] = chunk;
  }
  spreadToBodies(entry, chunks);
}

/// An attribute of the plan of `chunk`, with the grid of its stage in place of
/// the plan's.
Attribute ChunkMover::onChunk(Attribute attribute, int64_t chunk) {
  auto from = FlatSymbolRefAttr::get(plans_.grid(planOf(chunk)));
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) {
    return symbol == from ? places_[size_t(chunk)].grid : symbol;
  });
  return replacer.replace(attribute);
}

/// The split that `op`, which has been moved, would have on `chunk`.
Attribute ChunkMover::splitOn(int64_t chunk, Operation *op) {
  if (plans_.hasSizes()) {
    return onChunk(twinOn(chunk, op)->getAttr(spmd::SPMDDialect::kSplit),
                   chunk);
  }
  FlatSymbolRefAttr from = places_[size_t(chunkOf_.lookup(op))].grid;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) {
    return symbol == from ? places_[size_t(chunk)].grid : symbol;
  });
  return replacer.replace(op->getAttr(spmd::SPMDDialect::kSplit));
}

void ChunkMover::move(func::FuncOp entry) {
  for (Operation &op : entry.front()) {
    int64_t chunk = chunkOf_.lookup(&op);
    Operation *planned = plans_.twin(planOf(chunk), &op);
    for (StringRef name :
         {spmd::SPMDDialect::kSplit, spmd::SPMDDialect::kPlaces,
          spmd::SPMDDialect::kStops}) {
      if (Attribute attribute = planned->getAttr(name)) {
        op.setAttr(name, onChunk(attribute, chunk));
      } else {
        op.removeAttr(name);
      }
    }
  }
  for (unsigned i = 0; i != entry.getNumArguments(); ++i) {
    std::optional<int64_t> known;
    for (Operation *user : entry.getArgument(i).getUsers()) {
      int64_t own = chunkOf_.lookup(user);
      known = std::min(known.value_or(own), own);
    }
    int64_t chunk = known.value_or(0);
    if (auto place = spmd::getArgPlace(twinOn(chunk, entry), i)) {
      spmd::setArgPlace(entry, i, cast<spmd::PlaceAttr>(onChunk(place, chunk)));
    }
  }
  Operation *end = entry.front().getTerminator();
  for (unsigned i = 0; i != entry.getNumResults(); ++i) {
    int64_t chunk = std::max<int64_t>(chunkOfValue(end->getOperand(i), chunkOf_), 0);
    if (auto place = spmd::getResultPlace(twinOn(chunk, entry), i)) {
      spmd::setResultPlace(entry, i,
                           cast<spmd::PlaceAttr>(onChunk(place, chunk)));
    }
  }
}

void ChunkMover::moveBodies(func::FuncOp entry) {
  for (auto loop : entry.front().getOps<nn::LoopOp>()) {
    auto body = cast<func::FuncOp>(
        nn::lookupBody(loop, loop.getBodyAttr()).getOperation());
    moveBodies(body);
    move(body);
  }
}

/// A global rests on the first chunk that reads it, or else that updates it.
void ChunkMover::moveGlobals(ArrayRef<func::FuncOp> entries) {
  llvm::StringMap<int64_t> chunkOfGlobal;
  for (func::FuncOp entry : entries) {
    for (Operation &op : entry.front()) {
      StringRef global;
      if (auto read = dyn_cast<nn::ReadOp>(op)) {
        global = read.getGlobal();
      } else if (auto update = dyn_cast<nn::UpdateOp>(op)) {
        global = update.getGlobal();
      } else {
        continue;
      }
      int64_t chunk = chunkOf_.lookup(&op);
      auto [known, isNew] = chunkOfGlobal.try_emplace(global, chunk);
      known->second = std::min(known->second, chunk);
    }
  }
  for (auto global : module_.getOps<nn::GlobalOp>()) {
    int64_t chunk = chunkOfGlobal.lookup(global.getSymName());
    if (spmd::PlaceAttr place = spmd::getPlace(twinOn(chunk, global))) {
      spmd::setPlace(global, cast<spmd::PlaceAttr>(onChunk(place, chunk)));
    }
  }
}

/// A weight that rests on another grid comes once to a grid that reads it, and
/// not for each of its users and micro-batches.
void ChunkMover::bringGlobals(func::FuncOp entry) {
  llvm::DenseMap<std::pair<Operation *, Operation *>, Layout> brought;
  for (auto op : entry.front().getOps<nn::LoopInterface>()) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto read = operand.get().getDefiningOp<nn::ReadOp>();
      if (!read || !spmd::getSplit(op) || spmd::getStop(operand)) {
        continue;
      }
      FailureOr<spmd::Strategy> strategy = spmd::requireStrategy(op);
      auto global = SymbolTable::lookupNearestSymbolFrom<nn::GlobalOp>(
          read, read.getGlobalAttr());
      spmd::PlaceAttr place = spmd::getPlace(global);
      if (failed(strategy) || !place ||
          place.getGrid() == strategy->grid.getRef()) {
        continue;
      }
      Layout wanted = spmd::withoutPartial(
          operandLayout(strategy->nest, strategy->grid.getValue(),
                        strategy->split, operand.getOperandNumber()));
      Layout first =
          brought.try_emplace({read, strategy->grid}, wanted).first->second;
      spmd::setStop(operand,
                    spmd::makePlace(strategy->grid,
                                    global.getTensorType().getShape(), first));
    }
  }
}

void ChunkMover::run(ArrayRef<func::FuncOp> entries, ChunkOfNode chunkOfNode) {
  SmallVector<int64_t> stages;
  for (const ChunkPlace &place : places_) {
    auto sameGrid = [&](const ChunkPlace &other) {
      return other.grid == place.grid;
    };
    stages.push_back(llvm::find_if(places_, sameGrid) - places_.begin());
  }
  for (func::FuncOp entry : entries) {
    spreadChunks(entry, chunkOfNode, chunkOf_);
    moveBodies(entry);
    move(entry);
    splitSums(entry, chunkOf_, stages,
              [&](Operation *copy, Operation *op, int64_t chunk) {
                copy->setAttr(spmd::SPMDDialect::kSplit, splitOn(chunk, op));
              });
  }
  moveGlobals(entries);
  for (func::FuncOp entry : entries) {
    bringGlobals(entry);
  }
}

} // namespace divisi::plan
