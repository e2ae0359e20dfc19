//===- WriteCarried.cpp - Write carried values over the ones before -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an iteration gives to the next one may lie where it got it, if nobody
// needs the old value any more. So a row is written into what is stacked, and
// nothing else is copied:
//
//   %s = exec.input 2                      %s = exec.input 2
//   %v = exec.alloc                        %v = exec.input 2 {new_value}
//   call "nn.insert"(%s, %r, %i)     →     call "nn.insert"(%s, %r, %i)
//       into (%v)                              into (%v)
//   output 1 %v                            output 1 %v
//
// Where all programs of a body do so, the loop has no second place for it.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"

#include "dialects/Exec/NewInputs.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace divisi {
#define GEN_PASS_DEF_WRITECARRIED
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// See Passes.td.
class WriteCarriedPass
    : public divisi::impl::WriteCarriedBase<WriteCarriedPass> {
public:
  void runOnOperation() override;

private:
  std::set<uint64_t> write(ProgramOp program);
};

} // namespace

/// Input `index` of the program that `buffer` shows the old value of.
static bool showsInput(Value buffer, uint64_t index) {
  auto input = rootOf(buffer).getDefiningOp<InputOp>();
  return input && input.getIndex() == index;
}

/// Whether `call` may write its result `result` over input `index`, which it
/// reads itself.
static bool mayOverwrite(CallOp call, uint64_t index, Value result) {
  std::optional<rt::KernelQuery> query =
      call && call.getSpace().empty() ? queryCall(call) : std::nullopt;
  return query && mayWriteOver(call, query->inPlace, result, [&](Value input) {
           return showsInput(input, index);
         });
}

/// Whether the one that writes `alloc` is the last that reads input `index`.
static bool isLastReader(ProgramOp program, AllocOp alloc, uint64_t index) {
  CallOp writer;
  for (Operation &op : program.getBody().front()) {
    auto instruction = dyn_cast<InstructionInterface>(op);
    if (!instruction) {
      continue;
    }
    bool reads = llvm::any_of(instruction.getReads(), [&](Value buffer) {
      return showsInput(buffer, index);
    });
    bool writes = llvm::any_of(instruction.getWrites(), [&](Value buffer) {
      return rootOf(buffer) == alloc.getBuffer();
    });
    if (writer && (reads || writes)) {
      return false;
    }
    if (writes) {
      writer = dyn_cast<CallOp>(op);
      if (!writer || !mayOverwrite(writer, index, alloc.getBuffer())) {
        return false;
      }
    }
  }
  return writer != nullptr;
}

/// The inputs whose new values lie where the old ones do from now on.
std::set<uint64_t> WriteCarriedPass::write(ProgramOp program) {
  std::set<uint64_t> written;
  for (auto output : program.getBody().getOps<OutputOp>()) {
    uint64_t index = output.getIndex() + 1;
    auto same = output.getSource().getDefiningOp<InputOp>();
    if (same && same.getIndex() == index) {
      written.insert(index); // it stays as it is
      continue;
    }
    auto alloc = output.getSource().getDefiningOp<AllocOp>();
    InputOp input;
    for (auto one : program.getBody().getOps<InputOp>()) {
      input = one.getIndex() == index ? one : input;
    }
    if (!alloc || !input ||
        input.getBuffer().getType() != alloc.getBuffer().getType() ||
        !isLastReader(program, alloc, index)) {
      continue;
    }
    OpBuilder builder(alloc);
    auto value = InputOp::create(builder, alloc.getLoc(),
                                 alloc.getBuffer().getType(), index);
    value->setAttr(kNewValueAttr, builder.getUnitAttr());
    alloc.getBuffer().replaceAllUsesWith(value.getBuffer());
    alloc.erase();
    written.insert(index);
    ++numInPlace;
  }
  return written;
}

void WriteCarriedPass::runOnOperation() {
  // By the body's name; what all of its programs write so.
  llvm::StringMap<std::set<uint64_t>> written;
  for (auto program :
       llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
    auto entry = getOperation().lookupSymbol<EntryOp>(program.getEntry());
    if (!entry || !entry.getIsBody()) {
      continue;
    }
    std::set<uint64_t> own = write(program);
    auto [all, isNew] = written.try_emplace(program.getEntry(), own);
    if (!isNew) {
      std::erase_if(all->second,
                    [&](uint64_t index) { return !own.contains(index); });
    }
  }
  getOperation().walk([&](LoopOp loop) {
    auto found = written.find(loop.getBody());
    if (found == written.end()) {
      return;
    }
    for (uint64_t index : found->second) {
      OpOperand &spare = loop.getSparesMutable()[unsigned(index - 1)];
      auto alloc = spare.get().getDefiningOp<AllocOp>();
      spare.set(loop.getOutputs()[index - 1]);
      if (alloc && alloc->use_empty()) {
        alloc.erase();
      }
    }
  });
}
