//===- CopyCounter.cpp - What a program has to copy -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyCounter.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"
#include "passes/Lower/CallSites.h"
#include "runtime/kernels/Families.h"

using namespace divisi;
using namespace divisi::exec;

CopyCounter::CopyCounter(ProgramOp program, const std::set<std::string> &ops)
    : program_(program), ops_(ops),
      updated_(updatedGlobals(program->getParentOfType<mlir::ModuleOp>())) {
  program.walk([&](InstructionInterface op) {
    for (mlir::Value buffer : op.getWrites()) {
      writerOf_[rootOf(buffer)] = op;
    }
  });
}

bool CopyCounter::isAtHand(mlir::Value root) const {
  auto global = root.getDefiningOp<GlobalOp>();
  return root.getDefiningOp<ConstantOp>() ||
         (global && !updated_.contains(global.getGlobal()));
}

/// Of a root or a view: through all views.
void CopyCounter::collectReaders(
    mlir::Value buffer, std::vector<mlir::Operation *> &readers) const {
  for (mlir::Operation *user : buffer.getUsers()) {
    if (auto view = mlir::dyn_cast<ViewOp>(user)) {
      collectReaders(view.getBuffer(), readers);
    } else if (writerOf_.lookup(buffer) != user) {
      readers.push_back(user);
    }
  }
}

/// Whether it is a call that makes what was not there before.
static bool computes(mlir::Operation *op) {
  auto call = mlir::dyn_cast<CallOp>(op);
  return call && !rt::isMovement(call.getCallee());
}

static uint64_t tagOf(InstructionInterface op) {
  auto transfer = mlir::dyn_cast<TransferOp>(op.getOperation());
  return transfer ? transfer.getTag() : mlir::cast<CollectiveOp>(op).getTag();
}

/// Takes collectives off the device, beginning with all on it, until nobody
/// gives one from elsewhere.
std::vector<CopyCounter> CopyCounter::ofEntry(mlir::ModuleOp module,
                                              llvm::StringRef entry,
                                              const std::set<std::string> &ops,
                                              bool isReached) {
  std::vector<CopyCounter> counters;
  std::set<uint64_t> there;
  for (auto program : module.getOps<ProgramOp>()) {
    if (program.getEntry() == entry) {
      counters.emplace_back(program, ops);
      program.walk([&](InstructionInterface op) {
        if (isReached && op.getMeeting()) {
          there.insert(tagOf(op));
        }
      });
    }
  }
  size_t before = 0;
  do {
    before = there.size();
    for (CopyCounter &counter : counters) {
      counter.there_ = there;
    }
    for (CopyCounter &counter : counters) {
      counter.program_.walk([&](InstructionInterface op) {
        if (op.getMeeting() && !counter.worksThere(op)) {
          there.erase(tagOf(op));
        }
      });
    }
  } while (there.size() != before);
  return counters;
}

bool CopyCounter::worksThere(mlir::Operation *op) const {
  auto call = mlir::dyn_cast<CallOp>(op);
  if (call && (computes(op) || !ops_.contains(call.getCallee().str()))) {
    return ops_.contains(call.getCallee().str());
  }
  auto moved = mlir::cast<InstructionInterface>(op);
  if (!call && (!mlir::isa<CollectiveOp, TransferOp>(op) ||
                (moved.getMeeting() && !there_.contains(tagOf(moved))))) {
    return false;
  }
  if (moved.getMeeting() && moved.getReads().empty()) {
    return true;
  }
  if (!moved.getReads().empty()) {
    mlir::Value source = rootOf(moved.getReads()[0]);
    mlir::Operation *writer = writerOf_.lookup(source);
    if (!isAtHand(source)) {
      return writer && worksThere(writer);
    }
  }
  std::vector<mlir::Operation *> readers;
  for (mlir::Value target : moved.getWrites()) {
    collectReaders(target, readers);
  }
  return llvm::any_of(readers, [&](mlir::Operation *reader) {
    return computes(reader) && worksThere(reader);
  });
}

/// Of the rank's box.
static int64_t bytesOf(mlir::Value buffer, int64_t rank) {
  auto type = mlir::cast<BufferType>(buffer.getType());
  spmd::GridOp grid = spmd::lookupGrid(buffer.getDefiningOp(), type.getGrid());
  spmd::LocalAttr local = spmd::getLocal(type.getTensor());
  auto devices = grid.getDeviceIds();
  int64_t position = llvm::find(devices, rank) - devices.begin();
  llvm::SmallVector<int64_t> extents;
  for (Interval interval : local.getLayout().box(
           local.getGrid(), local.getGlobalShape(), position)) {
    extents.push_back(interval.size());
  }
  return *nn::byteCount(
      mlir::RankedTensorType::get(extents, type.getTensor().getElementType()));
}

std::pair<Counted, int64_t> CopyCounter::run(int64_t rank) const {
  std::pair<Counted, int64_t> result;
  auto &[counted, bytes] = result;
  for (mlir::Operation &op : ProgramOp(program_).getBody().front()) {
    if (mlir::isa<InstructionInterface, ViewOp>(op)) {
      continue;
    }
    mlir::Value root = op.getResult(0);
    mlir::Operation *writer = writerOf_.lookup(root);
    bool isMadeThere = writer && worksThere(writer);
    std::vector<mlir::Operation *> readers;
    collectReaders(root, readers);
    bool isReadElsewhere = llvm::any_of(readers, [&](mlir::Operation *reader) {
      return worksThere(reader) != isMadeThere;
    });
    if (!isReadElsewhere || isAtHand(root)) {
      continue;
    }
    ++(isMadeThere ? counted.toHost : counted.toDevice);
    bytes += bytesOf(root, rank);
  }
  return result;
}
