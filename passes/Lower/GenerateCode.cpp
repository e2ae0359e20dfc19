//===- GenerateCode.cpp - Make code of regions ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code depends on the structure of a region, not on extents: equal layers, and
// all ranks, have one.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"

#include "divisi/Codegen/NativeCode.h"
#include "divisi/Cost/ModuleCluster.h"
#include "passes/StatusDiagnostic.h"
#include "runtime/kernels/RowCall.h"
#include "runtime/kernels/RowCode.h"

#include "mlir/IR/Builders.h"

#include <map>

namespace divisi {
#define GEN_PASS_DEF_GENERATECODE
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// See Passes.td.
class GenerateCodePass
    : public divisi::impl::GenerateCodeBase<GenerateCodePass> {
public:
  using GenerateCodeBase::GenerateCodeBase;
  void runOnOperation() override;

private:
  LogicalResult addCode(CallOp call, CallSites &sites);
  FailureOr<FlatSymbolRefAttr> codeFor(const rt::CallSite &site, Location loc);

  std::map<std::string, FlatSymbolRefAttr> known_; ///< By structure.
  std::optional<CodeCache> cache_;                 ///< While it runs.
};

} // namespace

FailureOr<FlatSymbolRefAttr> GenerateCodePass::codeFor(const rt::CallSite &site,
                                                       Location loc) {
  FlatSymbolRefAttr &code = known_[codeStructure(site)];
  if (code) {
    return code;
  }
  divisi::Expected<std::string> bytes = generateCode(site, level, &*cache_);
  if (!bytes) {
    emitStatus(loc, bytes.status());
    return failure();
  }
  ModuleOp module = getOperation();
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  std::string name;
  do {
    name = "rows_" + std::to_string(numCodes++);
  } while (module.lookupSymbol(name));
  CodeOp::create(builder, loc, name, rt::nativeTarget(level.getValue()),
                 *bytes);
  numBytes += bytes->size();
  return code = FlatSymbolRefAttr::get(&getContext(), name);
}

/// Whether code is at least as fast as the parts one by one: masked vectors are
/// half empty in short rows (bench/codegen).
static bool isFaster(const rt::CallSite &site) {
  constexpr int64_t fewestColumns = 32;
  return llvm::all_of(rt::RowCall::of(site)->pieces(),
                      [](const rt::RowCall::Piece &piece) {
                        return piece.nest.columns() >= fewestColumns;
                      });
}

/// On each rank that makes something the call has the structure of the first.
LogicalResult GenerateCodePass::addCode(CallOp call, CallSites &sites) {
  std::string structure;
  FlatSymbolRefAttr code;
  bool isMade = true;
  bool isSame = sites.all(call, [&](const rt::CallSite &site, int) {
    if (!generatesCode(site) || !isFaster(site) ||
        (!structure.empty() && structure != codeStructure(site))) {
      return false;
    }
    if (structure.empty()) {
      structure = codeStructure(site);
      auto made = codeFor(site, call.getLoc());
      isMade = succeeded(made);
      code = made.value_or(FlatSymbolRefAttr());
    }
    return isMade;
  });
  if (isSame && code) {
    call.setCodeAttr(code);
    ++numCalls;
  }
  return success(isMade);
}

void GenerateCodePass::runOnOperation() {
  divisi::Expected<Cluster> cluster = getCluster(getOperation());
  if (!cluster) {
    emitStatus(getOperation().getLoc(), cluster.status());
    return signalPassFailure();
  }
  if (!hasKnownKernels(*cluster)) {
    return;
  }
  cache_.emplace();
  llvm::StringSet<> updated = updatedGlobals(getOperation());
  for (auto program : getOperation().getOps<ProgramOp>()) {
    CallSites sites(program, updated);
    for (CallOp call : program.getBody().getOps<CallOp>()) {
      if (call.isFused() && !call.getCode() && call.getSpace().empty() &&
          failed(addCode(call, sites))) {
        return signalPassFailure();
      }
    }
  }
}
