//===- PlanMemory.cpp - Give every buffer its place in the arena ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer lives from the instruction that writes it to the last one that
// reads it or a view of it. Where a kernel may write its result over an operand
// that nobody reads afterwards, both become one block:
//
//   0  call "nn.matmul"(%x, %w) into (%a)     %a: [0, 2)  ┐ one block [0, 3)
//   1  call "nn.relu"(%a) into (%b)           %b: [1, 3)  ┘
//   2  output 0 %b
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Passes.h"

#include "divisi/Evaluate/KernelCall.h"
#include "divisi/Memory/ArenaPlanner.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "plan-memory"

namespace divisi {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

static SmallVector<Type> tensorTypes(ValueRange buffers) {
  return llvm::map_to_vector(buffers, [](Value buffer) -> Type {
    return cast<BufferType>(buffer.getType()).getTensor();
  });
}

namespace {

/// Buffers that share one block, by the block's first buffer.
struct SharedBlock {
  SmallVector<AllocOp, 1> buffers;
  ArenaBlock lifetime;
};

/// Collects the blocks of one program.
class BlockBuilder {
public:
  explicit BlockBuilder(ProgramOp program) { measure(program); }

  /// All blocks, or failure after an error.
  FailureOr<SmallVector<SharedBlock, 0>> run(ProgramOp program);

  unsigned numInPlace = 0;

private:
  void measure(ProgramOp program);
  LogicalResult place(AllocOp alloc, Operation &writer, int64_t time);
  std::optional<size_t> blockToReuse(CallOp call, int64_t bytes, int64_t time);

  llvm::DenseMap<Value, int64_t> lastUse_; ///< Per root, an instruction.
  llvm::DenseMap<Value, size_t> blockOf_;  ///< Per root.
  SmallVector<SharedBlock, 0> blocks_;
};

/// See Passes.td.
class PlanMemoryPass : public divisi::impl::PlanMemoryBase<PlanMemoryPass> {
public:
  void runOnOperation() override;
};

} // namespace

void BlockBuilder::measure(ProgramOp program) {
  for (auto [time, op] : llvm::enumerate(program.getBody().front())) {
    for (Value operand : op.getOperands()) {
      int64_t &last = lastUse_[rootOf(operand)];
      last = std::max(last, int64_t(time));
    }
  }
}

/// The block of an operand that `call`, at `time`, may overwrite with its only
/// result of `bytes`.
std::optional<size_t> BlockBuilder::blockToReuse(CallOp call, int64_t bytes,
                                                 int64_t time) {
  std::optional<rt::KernelQuery> query = queryKernel(
      call.getCallee(), call.getConfig(), tensorTypes(call.getInputs()),
      tensorTypes(call.getOutputs()));
  if (!query || call.getOutputs().size() != 1) {
    return std::nullopt;
  }
  for (auto [operand, result] : query->inPlace) {
    Value root = rootOf(call.getInputs()[operand]);
    // An operand that occurs twice would be read while it is overwritten.
    bool once = llvm::count_if(call.getInputs(), [&](Value input) {
                  return rootOf(input) == root;
                }) == 1;
    auto block = blockOf_.find(root);
    if (once && block != blockOf_.end() && lastUse_[root] == time &&
        bytes <= blocks_[block->second].lifetime.bytes) {
      return block->second;
    }
  }
  return std::nullopt;
}

/// Gives `alloc`, first written by `writer` at `time`, a block.
LogicalResult BlockBuilder::place(AllocOp alloc, Operation &writer,
                                  int64_t time) {
  std::optional<int64_t> bytes =
      alloc->getParentOfType<ProgramOp>().bytesOf(alloc.getBuffer().getType());
  if (!bytes) {
    return alloc.emitOpError("has more bytes than an int64_t holds");
  }
  int64_t end = lastUse_[alloc.getBuffer()] + 1;
  std::optional<size_t> reused;
  if (auto call = dyn_cast<CallOp>(writer)) {
    reused = blockToReuse(call, *bytes, time);
  }
  if (reused) {
    ArenaBlock &lifetime = blocks_[*reused].lifetime;
    lifetime.end = std::max(lifetime.end, end);
    ++numInPlace;
  } else {
    blocks_.push_back({{}, {time, end, *bytes}});
  }
  size_t index = reused.value_or(blocks_.size() - 1);
  blocks_[index].buffers.push_back(alloc);
  blockOf_[alloc.getBuffer()] = index;
  return success();
}

FailureOr<SmallVector<SharedBlock, 0>> BlockBuilder::run(ProgramOp program) {
  for (auto [time, op] : llvm::enumerate(program.getBody().front())) {
    for (Value operand : op.getOperands()) {
      auto alloc = rootOf(operand).getDefiningOp<AllocOp>();
      if (alloc && !isa<ViewOp>(op) && !blockOf_.contains(alloc.getBuffer()) &&
          failed(place(alloc, op, time))) {
        return failure();
      }
    }
  }
  return std::move(blocks_);
}

void PlanMemoryPass::runOnOperation() {
  BlockBuilder builder(getOperation());
  FailureOr<SmallVector<SharedBlock, 0>> blocks = builder.run(getOperation());
  if (failed(blocks)) {
    return signalPassFailure();
  }
  SmallVector<ArenaBlock> lifetimes = llvm::map_to_vector(
      *blocks, [](const SharedBlock &block) { return block.lifetime; });
  std::optional<ArenaPlan> plan = planArena(lifetimes);
  if (!plan) {
    getOperation().emitOpError("needs more memory than 2^63 bytes");
    return signalPassFailure();
  }
  Builder attributes(&getContext());
  for (auto [block, offset] : llvm::zip_equal(*blocks, plan->offsets)) {
    for (AllocOp alloc : block.buffers) {
      alloc.setOffsetAttr(attributes.getI64IntegerAttr(offset));
    }
  }
  getOperation().setArenaBytes(plan->bytes);
  numInPlace += builder.numInPlace;
  LLVM_DEBUG(llvm::dbgs() << "arena " << plan->bytes << " bytes, at least "
                          << plan->lowerBound << " needed\n");
}
