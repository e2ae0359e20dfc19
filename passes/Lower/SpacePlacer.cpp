//===- SpacePlacer.cpp - Where a program's instructions work --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/SpacePlacer.h"

#include "divisi/runtime/kernels/OperatorKinds.h"

#include <map>

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

//===----------------------------------------------------------------------===//
// What works where
//===----------------------------------------------------------------------===//

LogicalResult SpacePlacer::index() {
  for (Operation &op : program_.getBody().front()) {
    for (Type type : op.getResultTypes()) {
      auto buffer = dyn_cast<BufferType>(type);
      if (buffer && !buffer.isOnHost()) {
        return op.emitOpError("lies in memory space '")
               << buffer.getSpace() << "' already; place-spaces runs once";
      }
    }
    auto instruction = dyn_cast<InstructionInterface>(op);
    if (!instruction) {
      continue;
    }
    instructions_.push_back(instruction);
    for (Value buffer : instruction.getWrites()) {
      if (!writerOf_.try_emplace(rootOf(buffer), &op).second) {
        return op.emitOpError("writes a buffer that an instruction before it "
                              "writes; place-spaces comes after lower-to-exec");
      }
    }
  }
  return success();
}

/// Whether all that `op` writes lies in the arena.
static bool writesArena(InstructionInterface op) {
  return llvm::all_of(op.getWrites(), [](Value buffer) {
    return buffer.getDefiningOp<AllocOp>();
  });
}

bool SpacePlacer::isInputOnDevice(uint64_t input) const {
  return input < inputs_.size() && inputs_[input];
}

/// The input of the body that operand `number` of `loop` is.
static uint64_t inputOf(LoopOp loop, unsigned number) {
  size_t carried = loop.getCarried().size();
  size_t read = 1 + carried + loop.getGiven().size();
  return number < read ? number : 1 + (number - read) % carried;
}

/// Whether who uses `operand` has it on the device.
bool SpacePlacer::isOnDevice(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  if (auto output = dyn_cast<OutputOp>(op)) {
    return isInputOnDevice(output.getIndex() + 1);
  }
  if (auto update = dyn_cast<UpdateOp>(op)) {
    return states_.contains(update.getGlobal());
  }
  auto loop = dyn_cast<LoopOp>(op);
  if (!loop) {
    return onDevice_.contains(op);
  }
  auto places = bodies_.find(loop.getBody());
  uint64_t input = inputOf(loop, operand.getOperandNumber());
  return places != bodies_.end() && input < places->second.size() &&
         places->second[input];
}

/// Whether it is a global that is updated, and rests on the device.
bool SpacePlacer::isState(Value root) const {
  auto global = root.getDefiningOp<GlobalOp>();
  return global && states_.contains(global.getGlobal());
}

/// Whether what has `root` for its result, or writes it, lets it lie there.
bool SpacePlacer::liesOnDevice(Value root) const {
  if (auto input = root.getDefiningOp<InputOp>()) {
    return isInputOnDevice(input.getIndex());
  }
  if (isState(root)) {
    return true;
  }
  Operation *writer = writerOf_.lookup(root);
  return writer && llvm::any_of(root.getUses(), [&](OpOperand &use) {
           return use.getOwner() == writer && isOnDevice(use);
         });
}

bool SpacePlacer::isReadOnDevice(Value buffer) const {
  return llvm::any_of(buffer.getUses(), [&](OpOperand &use) {
    auto view = dyn_cast<ViewOp>(use.getOwner());
    return view ? isReadOnDevice(view.getBuffer())
                : isOnDevice(use) && writerOf_.lookup(buffer) != use.getOwner();
  });
}

/// The root of what it moves; null if that is nothing.
static Value movedBy(InstructionInterface op) {
  SmallVector<Value> reads = op.getReads();
  return reads.empty() ? nullptr : rootOf(reads.front());
}

bool SpacePlacer::isAtHand(InstructionInterface op) const {
  Value source = movedBy(op);
  return !source || sites_.isConstant(source);
}

/// Whether what it moves is on the device anyway, or is only wanted there and
/// at hand in every space.
bool SpacePlacer::movesOnDevice(InstructionInterface op) const {
  Value source = movedBy(op);
  if (source && liesOnDevice(source)) {
    return true;
  }
  return isAtHand(op) && llvm::any_of(op.getWrites(), [&](Value buffer) {
           return isReadOnDevice(buffer);
         });
}

StepName divisi::stepNameOf(InstructionInterface op) {
  auto program = op->getParentOfType<ProgramOp>();
  auto transfer = dyn_cast<TransferOp>(op.getOperation());
  return {program.getEntry(),
          transfer ? transfer.getTag() : cast<CollectiveOp>(op).getTag()};
}

/// Whether it is a transfer of which the program has no source.
static bool onlyBrings(InstructionInterface op) {
  auto transfer = dyn_cast<TransferOp>(op.getOperation());
  return transfer && !transfer.getSource();
}

bool divisi::isMover(CallOp call) {
  return rt::isMovement(call.getCallee()) || call.getInputs().empty();
}

/// Whether `op` talks to nobody, or ranks meet on devices for it.
static bool isCollectiveThere(InstructionInterface op,
                              SpacePlacer::Reaches reaches) {
  return isa<CollectiveOp, TransferOp>(op) && (!op.getMeeting() || reaches(op));
}

void SpacePlacer::chooseCalls(Takes takes) {
  onDevice_.clear();
  for (InstructionInterface op : instructions_) {
    auto call = dyn_cast<CallOp>(op.getOperation());
    if (call && !isMover(call) && writesArena(op) && takes(call, sites_)) {
      onDevice_.insert(call);
    }
  }
}

/// Whether `op` can be on the device where what it moves, or combines, is.
bool SpacePlacer::mayMove(InstructionInterface op, Takes takes,
                          Reaches reaches) {
  auto call = dyn_cast<CallOp>(op.getOperation());
  return call ? isMover(call) && takes(call, sites_)
              : isCollectiveThere(op, reaches);
}

/// Whether `buffer` is read on the device, or something that is moved there
/// from it.
bool SpacePlacer::isWanted(Value buffer, Takes takes, Reaches reaches) {
  return llvm::any_of(buffer.getUses(), [&](OpOperand &use) {
    if (auto view = dyn_cast<ViewOp>(use.getOwner())) {
      return isWanted(view.getBuffer(), takes, reaches);
    }
    auto op = cast<InstructionInterface>(use.getOwner());
    SmallVector<Value> writes = op.getWrites();
    if (llvm::is_contained(writes, buffer)) {
      return false;
    }
    return isOnDevice(use) || (mayMove(op, takes, reaches) &&
                               llvm::any_of(writes, [&](Value moved) {
                                 return isWanted(moved, takes, reaches);
                               }));
  });
}

/// The root of `buffer`, before all that only moves it, or combines it.
Value SpacePlacer::madeFrom(Value buffer, Reaches reaches) const {
  while (true) {
    Value root = rootOf(buffer);
    auto op = dyn_cast_or_null<InstructionInterface>(writerOf_.lookup(root));
    auto call = dyn_cast_or_null<CallOp>(writerOf_.lookup(root));
    bool moves = op && (call ? isMover(call) : isCollectiveThere(op, reaches));
    if (!moves || op.getReads().empty()) {
      return root;
    }
    buffer = op.getReads().front();
  }
}

/// What is carried lies where it is made, if it is, and else, as what is given
/// does, where it is read. The iteration is the host's.
InputPlaces SpacePlacer::wantedInputs(size_t count, Takes takes,
                                      Reaches reaches) {
  chooseCalls(takes);
  std::map<uint64_t, bool> read;
  for (auto input : program_.getBody().getOps<InputOp>()) {
    read[input.getIndex()] |= isWanted(input.getBuffer(), takes, reaches);
  }
  std::map<uint64_t, bool> wanted = read;
  for (auto output : program_.getBody().getOps<OutputOp>()) {
    Value made = madeFrom(output.getSource(), reaches);
    auto input = made.getDefiningOp<InputOp>();
    wanted[output.getIndex() + 1] =
        input ? read[input.getIndex()] : liesOnDevice(made);
  }
  InputPlaces places(count);
  for (size_t index = 1; index < count; ++index) {
    places[index] = wanted[index];
  }
  return places;
}

void SpacePlacer::choose(Takes takes, Reaches reaches,
                         const std::set<StepName> &sent) {
  chooseCalls(takes);
  for (InstructionInterface op : instructions_) {
    auto call = dyn_cast<CallOp>(op.getOperation());
    bool moves = call ? isMover(call) : isa<CollectiveOp, TransferOp>(op);
    if (!moves || !writesArena(op)) {
      continue;
    }
    bool isThere =
        onlyBrings(op)
            ? sent.contains(stepNameOf(op))
            : movesOnDevice(op) ||
                  // What reads it there may be a move that comes later.
                  (isAtHand(op) &&
                   llvm::any_of(op.getWrites(), [&](Value buffer) {
                     return isWanted(buffer, takes, reaches);
                   }));
    if (isThere && mayMove(op, takes, reaches)) {
      onDevice_.insert(op);
    }
  }
}

std::vector<SpacePlacer::Step> SpacePlacer::steps() const {
  std::vector<Step> steps;
  for (InstructionInterface op : instructions_) {
    if (op.getMeeting()) {
      steps.push_back({stepNameOf(op), onDevice_.contains(op), onlyBrings(op)});
    }
  }
  return steps;
}

//===----------------------------------------------------------------------===//
// Buffers and copies
//===----------------------------------------------------------------------===//

/// Buffers lie where they are written, and views where their source does.
void SpacePlacer::setSpaces() {
  for (Operation &op : program_.getBody().front()) {
    bool isThere = op.getNumResults() == 1 && liesOnDevice(op.getResult(0));
    auto view = dyn_cast<ViewOp>(op);
    if (view) {
      isThere = !view.getSource().getType().isOnHost();
    }
    if (isThere) {
      auto type = cast<BufferType>(op.getResult(0).getType());
      op.getResult(0).setType(type.inSpace(space_));
    }
  }
}

/// MLIR numbers a block anew whenever something has been put or moved into it.
void SpacePlacer::numberOperations() {
  int64_t number = 0;
  for (Operation &op : program_.getBody().front()) {
    numberOf_[&op] = 2 * number++;
  }
}

/// Of operations that were there before the first copy.
bool SpacePlacer::isBefore(Operation *a, Operation *b) const {
  return numberOf_.lookup(a) < numberOf_.lookup(b);
}

/// Where in the list `buffer` is copied, which `reader` is the first to want.
void SpacePlacer::startCopy(OpBuilder &builder, Value buffer,
                            Operation *reader) {
  Operation *made = writerOf_.lookup(rootOf(buffer));
  Operation *next = previous_ ? previous_ : reader;
  bool leavesDevice = made && liesOnDevice(rootOf(buffer));
  if (auto view = buffer.getDefiningOp<ViewOp>();
      view && (!made || isBefore(made, view))) {
    made = view;
  }
  if (made && (leavesDevice || !isBefore(made, next))) {
    return builder.setInsertionPointAfter(made);
  }
  Operation *own = buffer.getDefiningOp();
  if (isBefore(next, own)) {
    own->moveBefore(next);
    numberOf_[own] = numberOf_.lookup(next) - 1;
  }
  builder.setInsertionPoint(next);
}

Value SpacePlacer::copy(Value buffer, BufferType type, Operation *reader) {
  OpBuilder builder(reader);
  startCopy(builder, buffer, reader);
  auto target = AllocOp::create(builder, reader->getLoc(), type, IntegerAttr());
  CopyOp::create(builder, reader->getLoc(), Type(), buffer, target,
                 builder.getStringAttr(kCopyQueue), ValueRange());
  ++numCopies;
  copiedBytes += program_.bytesOf(type).value_or(0);
  return target;
}

/// Whether `buffer` is copied alone, as a part of what nobody wants there.
bool SpacePlacer::isCopiedPart(Value buffer) const {
  auto view = buffer.getDefiningOp<ViewOp>();
  return view && !sites_.isConstant(buffer) &&
         !elsewhere_.contains(view.getSource()) &&
         view.getBuffer().getType().byteSize() !=
             view.getSource().getType().byteSize();
}

/// `buffer` in the space in which nobody writes it.
Value SpacePlacer::elsewhere(Value buffer, Operation *reader) {
  if (Value known = elsewhere_.lookup(buffer)) {
    return known;
  }
  auto own = cast<BufferType>(buffer.getType());
  BufferType type = own.inSpace(own.isOnHost() ? space_ : "");
  Value made;
  if (auto view = buffer.getDefiningOp<ViewOp>();
      view && !isCopiedPart(buffer)) {
    Value source = elsewhere(view.getSource(), reader);
    OpBuilder builder(view.getContext());
    builder.setInsertionPointAfterValue(source);
    made = ViewOp::create(builder, view.getLoc(), type, source,
                          view.getOffsetAttr());
  } else if (sites_.isConstant(buffer)) {
    OpBuilder builder(buffer.getContext());
    builder.setInsertionPointAfterValue(buffer);
    made = builder.clone(*buffer.getDefiningOp())->getResult(0);
    made.setType(type);
  } else {
    made = copy(buffer, type, reader);
  }
  elsewhere_[buffer] = made;
  return made;
}

/// Constants and views that are only read elsewhere.
void SpacePlacer::eraseUnread() {
  Block &body = program_.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    if (isa<ConstantOp, GlobalOp, ViewOp>(op) && op.use_empty() &&
        elsewhere_.contains(op.getResult(0))) {
      op.erase();
    }
  }
}

/// What the host does, for who asks.
void SpacePlacer::count() {
  for (InstructionInterface op : instructions_) {
    bool isThere = onDevice_.contains(op);
    if (auto call = dyn_cast<CallOp>(op.getOperation())) {
      numOnDevice += isThere;
      onHost[call.getCallee()] += !isThere;
    } else if (op.getMeeting() && !isThere && !onlyBrings(op) &&
               movesOnDevice(op)) {
      auto collective = dyn_cast<CollectiveOp>(op.getOperation());
      ++metOnHost[collective ? collective.getKind() : StringRef("transfer")];
    }
  }
}

void SpacePlacer::place() {
  count();
  setSpaces();
  numberOperations();
  for (InstructionInterface op : instructions_) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<BufferType>(operand.get().getType());
      if (type && type.isOnHost() == isOnDevice(operand)) {
        operand.set(elsewhere(operand.get(), op));
      }
    }
    if (onDevice_.contains(op)) {
      previous_ = op;
    }
  }
  eraseUnread();
  if (numCopies != 0) {
    // What they touch is not used again while they may run.
    program_.setOverlap(true);
  }
}
