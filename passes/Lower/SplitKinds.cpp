//===- SplitKinds.cpp - A program for each kind of devices ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks of a program lay their arenas out alike, each buffer as large as
// the largest box of any. Where faster devices get larger shards, small ones
// would have to find room for these:
//
//   program @forward__0 ranks [0, 1] {     program @forward__0 ranks [0] {
//     %0 = alloc : [x] on (x=2:[3,1])  →     %0 = alloc     three quarters
//   }                                      }
//                                          program @forward__0_v100 ranks [1] {
//                                            %0 = alloc     one quarter
//                                          }
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Passes.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace divisi {
#define GEN_PASS_DEF_SPLITKINDS
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// See Passes.td.
class SplitKindsPass : public divisi::impl::SplitKindsBase<SplitKindsPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// Whether ranks have unequal parts of a buffer, beyond what rounding leaves.
static bool hasWeights(ProgramOp program) {
  return llvm::any_of(program.getBody().getOps<AllocOp>(), [](AllocOp alloc) {
    spmd::LocalAttr local =
        spmd::getLocal(alloc.getBuffer().getType().getTensor());
    return llvm::any_of(local.getGrid().axes(), [](const GridAxis &axis) {
      return !axis.weights.empty();
    });
  });
}

void SplitKindsPass::runOnOperation() {
  ModuleOp module = getOperation();
  divisi::Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    emitStatus(module.getLoc(), cluster.status());
    return signalPassFailure();
  }
  SymbolTable symbols(module);
  for (auto program : llvm::make_early_inc_range(module.getOps<ProgramOp>())) {
    if (!hasWeights(program)) {
      continue;
    }
    llvm::MapVector<StringRef, SmallVector<int64_t>> kinds;
    for (int64_t rank : program.getRanks()) {
      kinds[cluster->kindOf(rank).name].push_back(rank);
    }
    Operation *last = program;
    for (auto &[kind, ranks] : llvm::drop_begin(kinds)) {
      ProgramOp own = program.clone();
      own.setRanks(ranks);
      own.setSymName((program.getSymName() + "_" + kind).str());
      symbols.insert(own, std::next(Block::iterator(last)));
      last = own;
      ++numSplit;
    }
    program.setRanks(kinds.front().second);
  }
}
