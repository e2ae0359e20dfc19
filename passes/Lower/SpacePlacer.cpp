//===- SpacePlacer.cpp - Where a program's instructions work --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/SpacePlacer.h"

#include "runtime/kernels/Families.h"

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

bool SpacePlacer::isReadOnDevice(Value buffer) const {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    auto view = dyn_cast<ViewOp>(user);
    return view ? isReadOnDevice(view.getBuffer())
                : onDevice_.contains(user) && writerOf_.lookup(buffer) != user;
  });
}

/// Whether what it moves is on the device anyway, or is only wanted there and
/// at hand in every space.
bool SpacePlacer::movesOnDevice(InstructionInterface op) const {
  SmallVector<Value> reads = op.getReads();
  Value source = reads.empty() ? nullptr : rootOf(reads.front());
  if (source && onDevice_.contains(writerOf_.lookup(source))) {
    return true;
  }
  return (!source || sites_.isConstant(source)) &&
         llvm::any_of(op.getWrites(),
                      [&](Value buffer) { return isReadOnDevice(buffer); });
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

void SpacePlacer::choose(llvm::function_ref<bool(CallOp, CallSites &)> takes,
                         llvm::function_ref<bool(InstructionInterface)> reaches,
                         const std::set<StepName> &sent) {
  onDevice_.clear();
  // What only moves bytes, or reads nothing, goes where these are, or are
  // wanted.
  auto isMover = [&](CallOp call) {
    return rt::isMovement(call.getCallee()) || call.getInputs().empty();
  };
  for (InstructionInterface op : instructions_) {
    auto call = dyn_cast<CallOp>(op.getOperation());
    if (call && !isMover(call) && writesArena(op) && takes(call, sites_)) {
      onDevice_.insert(call);
    }
  }
  for (InstructionInterface op : instructions_) {
    auto call = dyn_cast<CallOp>(op.getOperation());
    bool moves = call ? isMover(call) : isa<CollectiveOp, TransferOp>(op);
    if (!moves || !writesArena(op)) {
      continue;
    }
    bool isWanted =
        onlyBrings(op) ? sent.contains(stepNameOf(op)) : movesOnDevice(op);
    if (isWanted &&
        (call ? takes(call, sites_) : !op.getMeeting() || reaches(op))) {
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
    bool isThere = onDevice_.contains(
        writerOf_.lookup(op.getNumResults() == 1 ? op.getResult(0) : Value()));
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

/// Where in the list `root` is copied, which `reader` is the first to want.
void SpacePlacer::startCopy(OpBuilder &builder, Value root, Operation *reader) {
  Operation *writer = writerOf_.lookup(root);
  Operation *next = previous_ ? previous_ : reader;
  bool leavesDevice = onDevice_.contains(writer);
  if (writer && (leavesDevice || !writer->isBeforeInBlock(next))) {
    return builder.setInsertionPointAfter(writer);
  }
  if (next->isBeforeInBlock(root.getDefiningOp())) {
    root.getDefiningOp()->moveBefore(next);
  }
  builder.setInsertionPoint(next);
}

Value SpacePlacer::copy(Value root, BufferType type, Operation *reader) {
  OpBuilder builder(reader);
  startCopy(builder, root, reader);
  auto target = AllocOp::create(builder, reader->getLoc(), type, IntegerAttr());
  CopyOp::create(builder, reader->getLoc(), Type(), root, target,
                 builder.getStringAttr(kCopyQueue), ValueRange());
  ++numCopies;
  copiedBytes += program_.bytesOf(type).value_or(0);
  return target;
}

/// `buffer` in the space in which nobody writes it.
Value SpacePlacer::elsewhere(Value buffer, Operation *reader) {
  if (Value known = elsewhere_.lookup(buffer)) {
    return known;
  }
  auto own = cast<BufferType>(buffer.getType());
  BufferType type = own.inSpace(own.isOnHost() ? space_ : "");
  Value made;
  if (auto view = buffer.getDefiningOp<ViewOp>()) {
    Value source = elsewhere(view.getSource(), reader);
    OpBuilder builder(view.getContext());
    builder.setInsertionPointAfterValue(source);
    made = ViewOp::create(builder, view.getLoc(), type, source);
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
  for (InstructionInterface op : instructions_) {
    bool isOnDevice = onDevice_.contains(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<BufferType>(operand.get().getType());
      if (type && type.isOnHost() == isOnDevice) {
        operand.set(elsewhere(operand.get(), op));
      }
    }
    if (isOnDevice) {
      previous_ = op;
    }
  }
  eraseUnread();
  if (numCopies != 0) {
    // What they touch is not used again while they may run.
    program_.setOverlap(true);
  }
}
