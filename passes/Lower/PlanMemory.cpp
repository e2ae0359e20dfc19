//===- PlanMemory.cpp - Give every buffer its place in the arena ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer is needed from the instruction that writes it to the last one that
// reads it or a view of it (divisi/Memory/BufferBlocks.h). Where a kernel may
// write its result over an operand, it does. A workspace is needed by its call
// alone.
//
// The arena of a body is a buffer of the program with the loop, which is
// written there alone. So bodies come first.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Memory/ArenaPlanner.h"
#include "divisi/Memory/BufferBlocks.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Debug.h"

#include <limits>
#include <map>

#define DEBUG_TYPE "plan-memory"

namespace divisi {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// The steps of one program, and the buffers of its arena.
class StepReader {
public:
  /// Of `program`; of calls in its memory space `device` is asked, if not null.
  StepReader(ProgramOp program, const llvm::StringSet<> &updated,
             const rt::Backend *device)
      : program_(program), sites_(program, updated), device_(device) {}

  /// Reads the program; failure after an error.
  LogicalResult run();

  SmallVector<Operation *, 0> owners; ///< Per buffer its `exec.alloc`, or the
                                      ///< call that has it for a workspace.
  SmallVector<int64_t, 0> bytes;      ///< Per buffer.
  std::vector<BufferStep> steps;      ///< One per operation.

private:
  std::optional<size_t> bufferOf(Value value) const;
  SmallVector<unsigned> inPlaceOperands(CallOp call);
  BufferStep stepOf(Operation &op);

  ProgramOp program_;
  CallSites sites_;
  const rt::Backend *device_;
  llvm::DenseMap<Value, size_t> numberOf_;
  llvm::StringMap<size_t> queues_;
  llvm::DenseMap<Attribute, SmallVector<unsigned>> known_; ///< Of the device.
};

/// See Passes.td.
class PlanMemoryPass : public divisi::impl::PlanMemoryBase<PlanMemoryPass> {
public:
  explicit PlanMemoryPass(const rt::Backend *device = nullptr)
      : device_(device) {}
  void runOnOperation() override;

private:
  LogicalResult plan(ProgramOp program);
  LogicalResult makeArena(ProgramOp program, LoopOp loop);

  const rt::Backend *device_;
  llvm::StringSet<> updated_;
  llvm::SmallPtrSet<Operation *, 8> planned_;
};

} // namespace

std::optional<size_t> StepReader::bufferOf(Value value) const {
  auto found = numberOf_.find(rootOf(value));
  return found == numberOf_.end() ? std::nullopt : std::optional(found->second);
}

/// The operands over which `call` may write its only result, as numbers.
SmallVector<unsigned> StepReader::inPlaceOperands(CallOp call) {
  if (call.getOutputs().size() != 1) {
    return {};
  }
  auto ask = [&] {
    return llvm::map_to_vector(sites_.inPlace(call, device_), [](InPlace pair) {
      return unsigned(pair.first);
    });
  };
  if (call.getSpace().empty()) {
    return ask();
  }
  auto [known, isNew] = known_.try_emplace(sites_.keyOf(call));
  if (isNew) {
    known->second = ask();
  }
  return known->second;
}

BufferStep StepReader::stepOf(Operation &op) {
  BufferStep step;
  auto instruction = dyn_cast<InstructionInterface>(op);
  if (!instruction) {
    return step;
  }
  step.queue = queues_.try_emplace(instruction.queueName(), queues_.size())
                   .first->second;
  auto add = [&](ValueRange values, std::vector<size_t> &list) {
    for (Value value : values) {
      if (std::optional<size_t> buffer = bufferOf(value)) {
        list.push_back(*buffer);
      }
    }
  };
  add(instruction.getReads(), step.reads);
  add(instruction.getWrites(), step.writes);
  auto transfer = dyn_cast<TransferOp>(op);
  step.isSend = transfer && !transfer.getTarget();
  if (auto call = dyn_cast<CallOp>(op)) {
    for (unsigned operand : inPlaceOperands(call)) {
      Value input = call.getInputs()[operand];
      if (offsetInRoot(input) == 0) { // else it would begin elsewhere
        add(input, step.inPlace);
      }
    }
    if (std::optional<uint64_t> workspace = call.getWorkspace()) {
      step.scratch.push_back(owners.size());
      owners.push_back(call);
      bytes.push_back(int64_t(*workspace));
    }
  }
  return step;
}

LogicalResult StepReader::run() {
  queues_[kComputeQueue] = 0;
  for (Operation &op : program_.getBody().front()) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      std::optional<int64_t> size =
          program_.bytesOf(alloc.getBuffer().getType());
      if (!size) {
        return alloc.emitOpError("has more bytes than an int64_t holds");
      }
      numberOf_[alloc.getBuffer()] = owners.size();
      owners.push_back(alloc);
      bytes.push_back(*size);
    }
    steps.push_back(stepOf(op));
  }
  return success();
}

/// Places the blocks of one memory space. Those of calls lie between buffers,
/// or at one place for all of them, if that takes less.
static std::optional<ArenaPlan> placeBlocks(std::vector<ArenaBlock> blocks,
                                            ArrayRef<size_t> scratch) {
  std::optional<ArenaPlan> plan = planArena(blocks);
  if (!plan || scratch.empty() || plan->bytes == plan->lowerBound) {
    return plan;
  }
  ArenaBlock shared{std::numeric_limits<int64_t>::max(), 0, 0};
  for (const ArenaBlock &block : blocks) {
    shared.begin = std::min(shared.begin, block.begin);
    shared.end = std::max(shared.end, block.end);
  }
  for (size_t block : scratch) {
    shared.bytes = std::max(shared.bytes, blocks[block].bytes);
    blocks[block].bytes = 0;
  }
  blocks[scratch.front()] = shared;
  std::optional<ArenaPlan> other = planArena(blocks);
  if (!other || other->bytes >= plan->bytes) {
    return plan;
  }
  for (size_t block : scratch) {
    other->offsets[block] = other->offsets[scratch.front()];
  }
  return other;
}

/// The memory space of a buffer of the arena.
static StringRef spaceOf(Operation *owner) {
  auto alloc = dyn_cast<AllocOp>(owner);
  return alloc ? alloc.getBuffer().getType().getSpace()
               : cast<CallOp>(owner).getSpace();
}

namespace {

/// The blocks of one memory space.
struct SpaceBlocks {
  std::vector<ArenaBlock> blocks;
  std::vector<size_t> numbers; ///< Theirs among those of all spaces.
  std::vector<size_t> scratch; ///< Those of calls.
};

} // namespace

/// The blocks of each space, the host's first.
static std::map<StringRef, SpaceBlocks>
splitBySpace(const BufferBlocks &made, ArrayRef<Operation *> owners) {
  std::vector<Operation *> ownerOf(made.blocks.size());
  for (auto [owner, block] : llvm::zip_equal(owners, made.blockOf)) {
    if (block != BufferBlocks::none) {
      ownerOf[block] = owner;
    }
  }
  std::map<StringRef, SpaceBlocks> spaces;
  for (auto [number, owner] : llvm::enumerate(ownerOf)) {
    SpaceBlocks &space = spaces[spaceOf(owner)];
    if (isa<CallOp>(owner)) {
      space.scratch.push_back(space.blocks.size());
    }
    space.blocks.push_back(made.blocks[number]);
    space.numbers.push_back(number);
  }
  return spaces;
}

/// Whether two buffers, which both have bytes, begin at the same one.
static bool haveSamePlace(Value input, Value output) {
  Operation *from = rootOf(input).getDefiningOp();
  Operation *to = rootOf(output).getDefiningOp();
  int64_t fromOffset = offsetInRoot(input), toOffset = offsetInRoot(output);
  if (auto global = dyn_cast<NewGlobalOp>(to)) {
    auto old = dyn_cast<GlobalOp>(from);
    auto fresh = dyn_cast<NewGlobalOp>(from);
    return fromOffset == toOffset &&
           ((old && old.getGlobal() == global.getGlobal()) ||
            (fresh && fresh.getGlobal() == global.getGlobal()));
  }
  if (auto input = dyn_cast<InputOp>(to)) {
    auto old = dyn_cast<InputOp>(from);
    return fromOffset == toOffset && old && old.getIndex() == input.getIndex();
  }
  auto program = to->getParentOfType<ProgramOp>();
  auto a = dyn_cast<AllocOp>(from), b = dyn_cast<AllocOp>(to);
  auto hasBytes = [&](AllocOp alloc) {
    return program.bytesOf(alloc.getBuffer().getType()) != 0;
  };
  auto beginOf = [](AllocOp alloc, int64_t offset) {
    return int64_t(alloc.getOffset().value_or(0)) + offset;
  };
  return a && b && beginOf(a, fromOffset) == beginOf(b, toOffset) &&
         hasBytes(a) && hasBytes(b);
}

/// Says which results of `call`, which have been placed, lie over operands.
static void sayInPlace(CallOp call) {
  SmallVector<int64_t> over;
  for (auto [r, output] : llvm::enumerate(call.getOutputs())) {
    for (auto [o, input] : llvm::enumerate(call.getInputs())) {
      if (haveSamePlace(input, output)) {
        over.append({int64_t(o), int64_t(r)});
      }
    }
  }
  if (!over.empty()) {
    call.setOver(over);
  }
}

/// A buffer of so many bytes in the memory space `space`, in front of `loop`.
static Value makeBytes(LoopOp loop, int64_t bytes, StringRef space) {
  OpBuilder builder(loop);
  auto count = cast<BufferType>(loop.getCount().getType());
  RankedTensorType type = spmd::localType(
      RankedTensorType::get(bytes, builder.getI8Type()),
      spmd::getLocal(count.getTensor()).getGrid(), Layout::replicated(1));
  auto buffer = BufferType::get(loop.getContext(), type, count.getGrid());
  return AllocOp::create(builder, loop.getLoc(), buffer.inSpace(space),
                         IntegerAttr());
}

/// Gives `loop` buffers of as many bytes as its body needs on these ranks.
LogicalResult PlanMemoryPass::makeArena(ProgramOp program, LoopOp loop) {
  int64_t bytes = 0;
  std::map<StringRef, int64_t> onDevices;
  for (auto body : getOperation().getOps<ProgramOp>()) {
    bool isOwn = body.getEntry() == loop.getBody() &&
                 llvm::any_of(body.getRanks(), [&](int64_t rank) {
                   return llvm::is_contained(program.getRanks(), rank);
                 });
    if (isOwn) {
      if (failed(plan(body))) {
        return failure();
      }
      bytes = std::max(bytes, int64_t(body.getArenaBytes()));
      for (NamedAttribute arena : body.deviceArenas()) {
        int64_t &most = onDevices[arena.getName()];
        most = std::max(most, cast<IntegerAttr>(arena.getValue()).getInt());
      }
    }
  }
  if (onDevices.size() > 1) {
    return loop.emitOpError("runs a body that works on devices of two kinds");
  }
  if (bytes != 0 && !loop.getArena()) {
    loop.getArenaMutable().assign(makeBytes(loop, bytes, ""));
  }
  for (auto [space, most] : onDevices) {
    if (most != 0 && !loop.getDeviceArena()) {
      loop.getDeviceArenaMutable().assign(makeBytes(loop, most, space));
    }
  }
  return success();
}

LogicalResult PlanMemoryPass::plan(ProgramOp program) {
  if (!planned_.insert(program).second) {
    return success();
  }
  for (auto loop : program.getBody().getOps<LoopOp>()) {
    if (failed(makeArena(program, loop))) {
      return failure();
    }
  }
  StepReader reader(program, updated_, device_);
  if (failed(reader.run())) {
    return failure();
  }
  BufferBlocks made =
      blocksOf(reader.steps, reader.bytes, program.getOverlap());
  std::vector<int64_t> offsets(made.blocks.size());
  Builder attributes(&getContext());
  NamedAttrList arenas;
  program.setArenaBytes(0);
  for (auto &[space, part] : splitBySpace(made, reader.owners)) {
    std::optional<ArenaPlan> plan = placeBlocks(part.blocks, part.scratch);
    if (!plan) {
      return program.emitOpError("needs more memory than 2^63 bytes");
    }
    for (auto [number, offset] : llvm::zip_equal(part.numbers, plan->offsets)) {
      offsets[number] = offset;
    }
    if (space.empty()) {
      program.setArenaBytes(plan->bytes);
    } else {
      arenas.append(space, attributes.getI64IntegerAttr(plan->bytes));
    }
    LLVM_DEBUG(llvm::dbgs()
               << "arena " << nameOfSpace(space) << " " << plan->bytes
               << " bytes, at least " << plan->lowerBound << " needed\n");
  }
  program.setDeviceArenasAttr(
      arenas.empty() ? nullptr : arenas.getDictionary(&getContext()));
  for (auto [owner, block] : llvm::zip_equal(reader.owners, made.blockOf)) {
    if (block == BufferBlocks::none) {
      continue;
    }
    auto offset = attributes.getI64IntegerAttr(offsets[block]);
    if (auto alloc = dyn_cast<AllocOp>(owner)) {
      alloc.setOffsetAttr(offset);
    } else {
      cast<CallOp>(owner).setWorkspaceOffsetAttr(offset);
    }
  }
  for (CallOp call : program.getBody().getOps<CallOp>()) {
    sayInPlace(call);
  }
  numInPlace += made.numInPlace;
  return success();
}

void PlanMemoryPass::runOnOperation() {
  updated_ = updatedGlobals(getOperation());
  for (auto program : getOperation().getOps<ProgramOp>()) {
    if (failed(plan(program))) {
      return signalPassFailure();
    }
  }
}

std::unique_ptr<Pass> divisi::createPlanMemory(const DeviceTarget &device) {
  return std::make_unique<PlanMemoryPass>(device.backend);
}
