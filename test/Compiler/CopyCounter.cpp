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
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "passes/Lower/CallSites.h"

#include <algorithm>

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
    mlir::Value buffer, std::vector<mlir::OpOperand *> &readers) const {
  for (mlir::OpOperand &use : buffer.getUses()) {
    if (auto view = mlir::dyn_cast<ViewOp>(use.getOwner())) {
      collectReaders(view.getBuffer(), readers);
    } else if (writerOf_.lookup(buffer) != use.getOwner()) {
      readers.push_back(&use);
    }
  }
}

/// Whether it is a call that makes what was not there before.
static bool computes(mlir::Operation *op) {
  auto call = mlir::dyn_cast<CallOp>(op);
  return call && !rt::isMovement(call.getCallee());
}

/// Whether it only moves what is there.
static bool isMove(mlir::Operation *op) {
  return mlir::isa<CollectiveOp, TransferOp>(op) ||
         (mlir::isa<CallOp>(op) && !computes(op));
}

static uint64_t tagOf(InstructionInterface op) {
  auto transfer = mlir::dyn_cast<TransferOp>(op.getOperation());
  return transfer ? transfer.getTag() : mlir::cast<CollectiveOp>(op).getTag();
}

/// Takes states off the device, beginning with all on it, until each of them is
/// copied less often than it would be with the host.
std::vector<CopyCounter> CopyCounter::ofEntry(mlir::ModuleOp module,
                                              llvm::StringRef entry,
                                              const std::set<std::string> &ops,
                                              bool isReached) {
  States states;
  llvm::StringSet<> updated = updatedGlobals(module);
  for (llvm::StringRef name : updated.keys()) {
    states.insert(name.str());
  }
  while (true) {
    auto counters = ofEntry(module, entry, ops, isReached, states);
    StateCounts counts;
    for (const CopyCounter &counter : counters) {
      counter.countStates(counts);
    }
    size_t known = states.size();
    for (const auto &[name, copies] : counts) {
      auto [steps, others] = copies;
      int64_t spared = steps.toDevice - steps.toHost;
      spared = spared == 0 ? others.toDevice - others.toHost : spared;
      if (spared <= 0) {
        states.erase(name);
      }
    }
    if (states.size() == known) {
      return counters;
    }
  }
}

/// As `toDevice` what is copied of a state that rests with the host, as
/// `toHost` what is of one that rests on the device. A step is who reads and
/// updates it.
void CopyCounter::countStates(StateCounts &counts) const {
  std::set<std::string> read, made;
  StateCounts own;
  for (mlir::Operation &op : ProgramOp(program_).getBody().front()) {
    if (auto global = mlir::dyn_cast<GlobalOp>(op);
        global && updated_.contains(global.getGlobal())) {
      read.insert(global.getGlobal().str());
      Counted &copies = own[global.getGlobal().str()].first;
      copies.toDevice += isWanted(global.getBuffer());
      copies.toHost += isWantedByHost(global.getBuffer());
    }
    if (auto update = mlir::dyn_cast<UpdateOp>(op)) {
      made.insert(update.getGlobal().str());
      mlir::Value source = madeFrom(update.getSource());
      Counted &copies = own[update.getGlobal().str()].first;
      if (!isAtHand(source) && !source.getDefiningOp<GlobalOp>()) {
        ++(isMadeThere(source) ? copies.toDevice : copies.toHost);
      }
    }
  }
  for (auto &[name, copies] : own) {
    auto &[steps, others] = counts[name];
    bool isStep = read.contains(name) && made.contains(name);
    Counted &all = isStep ? steps : others;
    all.toDevice += copies.first.toDevice;
    all.toHost += copies.first.toHost;
  }
}

/// Whether it is read with the host, or what is moved from it.
bool CopyCounter::isWantedByHost(mlir::Value buffer) const {
  std::vector<mlir::OpOperand *> readers;
  collectReaders(buffer, readers);
  return llvm::any_of(readers, [&](mlir::OpOperand *use) {
    auto op = mlir::cast<InstructionInterface>(use->getOwner());
    return isMove(op) ? llvm::any_of(
                            op.getWrites(),
                            [&](mlir::Value to) { return isWantedByHost(to); })
                      : !hasThere(*use);
  });
}

/// The root of what it was before it was moved.
mlir::Value CopyCounter::madeFrom(mlir::Value buffer) const {
  mlir::Value made = rootOf(buffer);
  auto writer =
      mlir::dyn_cast_or_null<InstructionInterface>(writerOf_.lookup(made));
  while (writer && isMove(writer) && !writer.getReads().empty() &&
         (mlir::isa<CallOp>(writer) || mayMoveThere(writer))) {
    made = rootOf(writer.getReads()[0]);
    writer =
        mlir::dyn_cast_or_null<InstructionInterface>(writerOf_.lookup(made));
  }
  return made;
}

/// Takes collectives off the device, beginning with all on it, until nobody
/// gives one from elsewhere.
std::vector<CopyCounter> CopyCounter::ofEntry(mlir::ModuleOp module,
                                              llvm::StringRef entry,
                                              const std::set<std::string> &ops,
                                              bool isReached,
                                              const States &states) {
  std::vector<CopyCounter> counters;
  std::set<uint64_t> there;
  auto symbol = mlir::cast<EntryOp>(module.lookupSymbol(entry));
  Places places(symbol.getInputTypes().size(), symbol.getIsBody());
  for (auto program : module.getOps<ProgramOp>()) {
    if (program.getEntry() == entry) {
      CopyCounter &counter = counters.emplace_back(program, ops);
      counter.states_ = states;
      for (auto loop : program.getBody().getOps<LoopOp>()) {
        counter.bodies_[loop.getBody().str()] =
            ofEntry(module, loop.getBody(), ops, isReached, states);
      }
      program.walk([&](InstructionInterface op) {
        if (isReached && op.getMeeting()) {
          there.insert(tagOf(op));
        }
      });
      counter.there_ = there;
      Places wanted = counter.wantedInputs(places.size());
      for (size_t i = 0; i < places.size(); ++i) {
        places[i] = places[i] && wanted[i];
      }
    }
  }
  for (CopyCounter &counter : counters) {
    counter.inputs_ = places;
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
    if (!isAtHand(source)) {
      return isMadeThere(source);
    }
  }
  return llvm::any_of(moved.getWrites(),
                      [&](mlir::Value target) { return isWanted(target); });
}

/// Whether who reads or writes it does so there: a loop and an output where the
/// body has it.
bool CopyCounter::hasThere(mlir::OpOperand &use) const {
  if (auto output = mlir::dyn_cast<OutputOp>(use.getOwner())) {
    return output.getIndex() + 1 < inputs_.size() &&
           inputs_[output.getIndex() + 1];
  }
  if (auto update = mlir::dyn_cast<UpdateOp>(use.getOwner())) {
    return states_.contains(update.getGlobal().str());
  }
  auto loop = mlir::dyn_cast<LoopOp>(use.getOwner());
  if (!loop) {
    return worksThere(use.getOwner());
  }
  const Places &places = bodies_.at(loop.getBody().str()).front().inputs_;
  size_t number = use.getOperandNumber(), carried = loop.getCarried().size();
  return places[number < places.size()
                    ? number
                    : 1 + (number - places.size()) % carried];
}

bool CopyCounter::isMadeThere(mlir::Value root) const {
  if (auto input = root.getDefiningOp<InputOp>()) {
    return input.getIndex() < inputs_.size() && inputs_[input.getIndex()];
  }
  if (auto global = root.getDefiningOp<GlobalOp>()) {
    return states_.contains(global.getGlobal().str());
  }
  mlir::Operation *writer = writerOf_.lookup(root);
  return writer && llvm::any_of(root.getUses(), [&](mlir::OpOperand &use) {
           return use.getOwner() == writer && hasThere(use);
         });
}

/// Whether it only moves, or combines, and can do so there.
bool CopyCounter::mayMoveThere(mlir::Operation *op) const {
  if (auto call = mlir::dyn_cast<CallOp>(op)) {
    return ops_.contains(call.getCallee().str());
  }
  auto moved = mlir::cast<InstructionInterface>(op);
  return !moved.getMeeting() || there_.contains(tagOf(moved));
}

/// Whether it is read there, or what is moved from it.
bool CopyCounter::isWanted(mlir::Value buffer) const {
  std::vector<mlir::OpOperand *> readers;
  collectReaders(buffer, readers);
  return llvm::any_of(readers, [&](mlir::OpOperand *use) {
    mlir::Operation *op = use->getOwner();
    return isMove(op)
               ? mayMoveThere(op) &&
                     llvm::any_of(
                         mlir::cast<InstructionInterface>(op).getWrites(),
                         [&](mlir::Value to) { return isWanted(to); })
               : hasThere(*use);
  });
}

/// Where a body would have its inputs, and so what it carries: where it is
/// made, or if it is not made, where it is read.
CopyCounter::Places CopyCounter::wantedInputs(size_t count) const {
  Places read(count), wanted;
  for (auto input : ProgramOp(program_).getBody().getOps<InputOp>()) {
    read[input.getIndex()] = isWanted(input.getBuffer());
  }
  wanted = read;
  for (auto output : ProgramOp(program_).getBody().getOps<OutputOp>()) {
    mlir::Value made = madeFrom(output.getSource());
    auto input = made.getDefiningOp<InputOp>();
    if (output.getIndex() + 1 < count) {
      wanted[output.getIndex() + 1] =
          input ? bool(read[input.getIndex()]) : isMadeThere(made);
    }
  }
  std::fill_n(wanted.begin(), std::min<size_t>(count, 1), false);
  return wanted;
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
    bool isThere = isMadeThere(root);
    std::vector<mlir::OpOperand *> readers;
    collectReaders(root, readers);
    bool isReadElsewhere = llvm::any_of(readers, [&](mlir::OpOperand *use) {
      return hasThere(*use) != isThere;
    });
    if (!isReadElsewhere || isAtHand(root)) {
      continue;
    }
    ++(isThere ? counted.toHost : counted.toDevice);
    bytes += bytesOf(root, rank);
  }
  for (const auto &[name, programs] : bodies_) {
    for (const CopyCounter &body : programs) {
      if (llvm::is_contained(body.program().getRanks(), rank)) {
        auto [inBody, moved] = body.run(rank);
        counted.toDevice += inBody.toDevice;
        counted.toHost += inBody.toHost;
        bytes += moved;
      }
    }
  }
  return result;
}
