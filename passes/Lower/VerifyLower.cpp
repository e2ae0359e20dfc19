//===- VerifyLower.cpp - Check that a module can be emitted ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"

#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallSet.h"

namespace divisi {
#define GEN_PASS_DEF_VERIFYLOWER
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// See Passes.td.
class VerifyLowerPass : public divisi::impl::VerifyLowerBase<VerifyLowerPass> {
public:
  void runOnOperation() override;
};

} // namespace

static LogicalResult verifyKind(Operation &op) {
  auto function = dyn_cast<func::FuncOp>(op);
  bool isInit = function && !spmd::isEntry(function);
  if (isInit ||
      isa<nn::GlobalOp, spmd::GridOp, EntryOp, ProgramOp, CodeOp>(op)) {
    return success();
  }
  return op.emitOpError("cannot be emitted; run lower-to-exec first");
}

/// Every buffer that an instruction names is placed, and inputs and outputs
/// are the entry's.
static LogicalResult verifyBuffers(ProgramOp program, EntryOp entry) {
  for (Operation &op : program.getBody().front()) {
    if (auto alloc = dyn_cast<AllocOp>(op); alloc && !alloc.getOffset()) {
      return alloc.emitOpError("has no offset; run plan-memory first");
    }
    if (auto call = dyn_cast<CallOp>(op);
        call && call.getWorkspace() && !call.getWorkspaceOffset()) {
      return call.emitOpError("has no place for its workspace; run plan-memory "
                              "first");
    }
    if (isa<UpdateOp>(op)) {
      return op.emitOpError(
          "is not an instruction of an artifact; run write-globals first");
    }
    // Of a body they may lie with a device.
    auto isOfEntry = [&](ArrayAttr types, uint64_t index, BufferType own) {
      return index < types.size() &&
             cast<TypeAttr>(types[index]).getValue() ==
                 (entry.getIsBody() ? own.inSpace("") : own);
    };
    auto input = dyn_cast<InputOp>(op);
    if (input && !isOfEntry(entry.getInputTypes(), input.getIndex(),
                            input.getBuffer().getType())) {
      return input.emitOpError("is not input ")
             << input.getIndex() << " of @" << entry.getSymName();
    }
    auto output = dyn_cast<OutputOp>(op);
    if (output && !isOfEntry(entry.getOutputTypes(), output.getIndex(),
                             output.getSource().getType())) {
      return output.emitOpError("is not output ")
             << output.getIndex() << " of @" << entry.getSymName();
    }
  }
  return success();
}

/// A global that is updated is in one memory space in all programs.
static LogicalResult verifyStates(ModuleOp module) {
  llvm::StringSet<> updated = updatedGlobals(module);
  llvm::StringMap<StringRef> spaces;
  auto verify = [&](auto global) -> LogicalResult {
    if (!updated.contains(global.getGlobal())) {
      return success();
    }
    StringRef own = global.getBuffer().getType().getSpace();
    StringRef space = spaces.try_emplace(global.getGlobal(), own).first->second;
    if (own == space) {
      return success();
    }
    return global.emitOpError("is in memory space '")
           << nameOfSpace(own) << "', and '" << nameOfSpace(space)
           << "' has this global, which is updated, already";
  };
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    for (Operation &op : program.getBody().front()) {
      LogicalResult result = success();
      if (auto global = dyn_cast<GlobalOp>(op)) {
        result = verify(global);
      } else if (auto fresh = dyn_cast<NewGlobalOp>(op)) {
        result = verify(fresh);
      }
      if (failed(result)) {
        return failure();
      }
    }
  }
  return success();
}

/// All programs of one entry: disjoint ranks, every output made by some.
static LogicalResult verifyEntry(ModuleOp module, EntryOp entry) {
  llvm::SmallSet<int64_t, 16> ranks;
  llvm::SmallSet<uint64_t, 4> outputs;
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    if (program.getEntry() != entry.getSymName()) {
      continue;
    }
    for (int64_t rank : program.getRanks()) {
      if (!ranks.insert(rank).second) {
        return program.emitOpError("runs on rank ")
               << rank << ", which another program of @" << entry.getSymName()
               << " has already";
      }
    }
    for (OutputOp output : program.getBody().getOps<OutputOp>()) {
      outputs.insert(output.getIndex());
    }
    if (failed(verifyBuffers(program, entry))) {
      return failure();
    }
  }
  if (outputs.size() != entry.getOutputTypes().size()) {
    return entry.emitOpError("has ")
           << entry.getOutputTypes().size()
           << " outputs, but its programs make " << outputs.size();
  }
  return success();
}

void VerifyLowerPass::runOnOperation() {
  ModuleOp module = getOperation();
  for (Operation &op : *module.getBody()) {
    if (failed(verifyKind(op))) {
      return signalPassFailure();
    }
  }
  if (failed(verifyStates(module))) {
    return signalPassFailure();
  }
  for (EntryOp entry : module.getOps<EntryOp>()) {
    if (failed(verifyEntry(module, entry))) {
      return signalPassFailure();
    }
  }
}
