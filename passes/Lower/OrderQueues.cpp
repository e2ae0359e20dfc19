//===- OrderQueues.cpp - Let instructions come after others ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The list says in which order a program is right; queues run side by side.
// What has to stay in order is said with tokens, here for a write over bytes
// that another queue still reads:
//
//   call … into (%p)                          %0 = call … into (%p)
//   collective "all_reduce" %p into %r    →   %1 = collective … after %0
//   call … into (%q)   // at %p's bytes       call … into (%q) after %1
//
// A loop comes after all before it and before all behind it: as if it wrote a
// byte that all others read.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Passes.h"

#include "dialects/Exec/NewInputs.h"
#include "divisi/Memory/NeededOrder.h"

#include "llvm/ADT/StringMap.h"

namespace divisi {
#define GEN_PASS_DEF_ORDERQUEUES
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// See Passes.td.
class OrderQueuesPass : public divisi::impl::OrderQueuesBase<OrderQueuesPass> {
public:
  void runOnOperation() override;
};

} // namespace

namespace {

/// Where bytes lie that are written: in the arena, and behind it, for want of
/// an address, those of globals and inputs.
class Bytes {
public:
  explicit Bytes(ProgramOp program) : program_(program) {
    int64_t end = program.getArenaBytes();
    for (NamedAttribute arena : program.deviceArenas()) {
      arenas_[arena.getName().getValue()] = end;
      end += program.arenaBytesIn(arena.getName());
    }
    for (auto global : program.getBody().getOps<NewGlobalOp>()) {
      begin_.try_emplace(global.getGlobal(), end);
      end += program.bytesOf(global.getBuffer().getType()).value_or(0);
    }
    for (auto input : program.getBody().getOps<InputOp>()) {
      if (isNewValue(input)) {
        begin_.try_emplace(nameOf(input.getIndex()), end);
        end += program.bytesOf(input.getBuffer().getType()).value_or(0);
      }
    }
    if (!program.getBody().getOps<LoopOp>().empty()) {
      barrier_ = end;
    }
  }

  SmallVector<ByteAccess> accessesOf(InstructionInterface op) const;

private:
  void add(Value buffer, bool writes,
           SmallVectorImpl<ByteAccess> &accesses) const;
  std::optional<int64_t> beginOf(Operation *root) const;
  /// Of an input, among those of globals, none of which is called so.
  static std::string nameOf(uint64_t input) {
    return "input:" + std::to_string(input);
  }

  ProgramOp program_;
  llvm::StringMap<int64_t> arenas_; ///< Where those of devices begin.
  /// Of globals and inputs that the program writes.
  llvm::StringMap<int64_t> begin_;
  std::optional<int64_t> barrier_; ///< The byte behind all.
};

} // namespace

/// Of the bytes that `root` makes a buffer of; nothing if nobody writes them.
std::optional<int64_t> Bytes::beginOf(Operation *root) const {
  if (auto alloc = dyn_cast<AllocOp>(root)) {
    std::optional<uint64_t> offset = alloc.getOffset();
    int64_t arena = arenas_.lookup(alloc.getBuffer().getType().getSpace());
    return offset ? std::optional<int64_t>(arena + *offset) : std::nullopt;
  }
  std::string name;
  if (auto global = dyn_cast<GlobalOp>(root)) {
    name = global.getGlobal().str();
  } else if (auto global = dyn_cast<NewGlobalOp>(root)) {
    name = global.getGlobal().str();
  } else if (auto input = dyn_cast<InputOp>(root)) {
    name = nameOf(input.getIndex());
  }
  auto found = begin_.find(name);
  return found == begin_.end() ? std::nullopt : std::optional(found->second);
}

void Bytes::add(Value buffer, bool writes,
                SmallVectorImpl<ByteAccess> &accesses) const {
  Value root = rootOf(buffer);
  if (std::optional<int64_t> begin = beginOf(root.getDefiningOp())) {
    auto type = cast<BufferType>(root.getType());
    int64_t bytes = ProgramOp(program_).bytesOf(type).value_or(0);
    accesses.push_back({*begin, *begin + bytes, writes});
  }
}

SmallVector<ByteAccess> Bytes::accessesOf(InstructionInterface op) const {
  SmallVector<ByteAccess> accesses;
  for (Value buffer : op.getReads()) {
    add(buffer, /*writes=*/false, accesses);
  }
  for (Value buffer : op.getWrites()) {
    add(buffer, /*writes=*/true, accesses);
  }
  if (barrier_) {
    accesses.push_back({*barrier_, *barrier_ + 1, isa<LoopOp>(op)});
  }
  auto call = dyn_cast<CallOp>(op.getOperation());
  if (std::optional<int64_t> begin =
          call ? call.getWorkspaceOffset() : std::nullopt) {
    int64_t first = arenas_.lookup(call.getSpace()) + *begin;
    accesses.push_back({first, first + int64_t(call.getWorkspace().value_or(0)),
                        /*writes=*/true});
  }
  return accesses;
}

/// The token of `op`, which is made anew if it has none yet.
static Value tokenOf(InstructionInterface &op) {
  if (!op.getDone()) {
    Operation *old = op;
    Operation *made = Operation::create(
        old->getLoc(), old->getName(), TokenType::get(old->getContext()),
        old->getOperands(), old->getDiscardableAttrDictionary(),
        old->getPropertiesStorage(), BlockRange(), old->getNumRegions());
    for (auto [to, from] :
         llvm::zip_equal(made->getRegions(), old->getRegions())) {
      to.takeBody(from);
    }
    old->getBlock()->getOperations().insert(Block::iterator(old), made);
    old->erase();
    op = cast<InstructionInterface>(made);
  }
  return op.getDone();
}

void OrderQueuesPass::runOnOperation() {
  NeededOrder order;
  Bytes bytes(getOperation());
  SmallVector<InstructionInterface> instructions;
  llvm::StringMap<size_t> queues;
  llvm::DenseMap<Value, size_t> instructionOf; // by token
  Block &body = getOperation().getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto instruction = dyn_cast<InstructionInterface>(op);
    if (!instruction) {
      continue;
    }
    SmallVector<size_t> given =
        llvm::map_to_vector(instruction.getAfter(), [&](Value token) {
          return instructionOf.lookup(token);
        });
    size_t queue = queues.try_emplace(instruction.queueName(), queues.size())
                       .first->second;
    for (size_t earlier :
         order.add(queue, given, bytes.accessesOf(instruction))) {
      Value token = tokenOf(instructions[earlier]);
      instructionOf[token] = earlier;
      instruction.getAfterMutable().append(token);
      ++numEdges;
    }
    if (Value token = instruction.getDone()) {
      instructionOf[token] = instructions.size();
    }
    instructions.push_back(instruction);
  }
}
