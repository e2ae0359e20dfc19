//===- AskKernels.cpp - Ask kernels what their calls want -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernel takes a call is decided when the artifact is loaded. The one
// that a session takes unless told otherwise is asked here, for the box of each
// rank: its workspace lies in the arena. One that wants more gets its own then.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"

#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Profile/HostProcessor.h"
#include "passes/StatusDiagnostic.h"

namespace divisi {
#define GEN_PASS_DEF_ASKKERNELS
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// Asks about the calls of one program.
class ProgramAsker {
public:
  /// Calls beside those with the host are asked of `device`, which may be null.
  ProgramAsker(ProgramOp program, const llvm::StringSet<> &updated,
               const rt::Backend *device)
      : sites_(program, updated), device_(device) {}

  /// What the call wants on the rank where it wants most.
  int64_t workspaceOf(CallOp call);

private:
  CallSites sites_;
  const rt::Backend *device_;
  llvm::DenseMap<Attribute, int64_t> known_; ///< By all that it depends on.
};

/// See Passes.td.
class AskKernelsPass : public divisi::impl::AskKernelsBase<AskKernelsPass> {
public:
  explicit AskKernelsPass(const rt::Backend *device = nullptr)
      : device_(device) {}
  void runOnOperation() override;

private:
  const rt::Backend *device_;
};

} // namespace

int64_t ProgramAsker::workspaceOf(CallOp call) {
  auto [known, isNew] = known_.try_emplace(sites_.keyOf(call), 0);
  if (!isNew) {
    return known->second;
  }
  // As `run` chooses it, unless told otherwise.
  SmallVector<const rt::Backend *, 2> backends = {&rt::cpuBackend(),
                                                  &rt::referenceBackend()};
  if (!call.getSpace().empty()) {
    backends = {device_};
  }
  int64_t most = 0;
  sites_.all(call, [&](const rt::CallSite &site, int version) {
    if (const rt::Backend *taker = rt::chooseBackend(site, version, backends)) {
      most = std::max(most,
                      taker->find(site, version)->query(site).workspaceBytes);
    }
    return true;
  });
  return known->second = most;
}

void AskKernelsPass::runOnOperation() {
  ModuleOp module = getOperation();
  divisi::Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    emitStatus(module.getLoc(), cluster.status());
    return signalPassFailure();
  }
  // Beside a device that is known, the host has the kernels of this build.
  bool knowsHost = device_ || runsKernelsOf(*cluster);
  llvm::StringSet<> updated = updatedGlobals(module);
  for (auto program : module.getOps<ProgramOp>()) {
    ProgramAsker asker(program, updated, device_);
    for (CallOp call : program.getBody().getOps<CallOp>()) {
      bool isKnown =
          call.getSpace().empty()
              ? knowsHost
              : device_ && StringRef(device_->space()) == call.getSpace();
      if (int64_t bytes = isKnown ? asker.workspaceOf(call) : 0) {
        call.setWorkspace(bytes);
        ++numWorkspaces;
      }
    }
  }
}

std::unique_ptr<Pass> divisi::createAskKernels(const DeviceTarget &device) {
  return std::make_unique<AskKernelsPass>(device.backend);
}
