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

#include "passes/Lower/Passes.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Evaluate/KernelCall.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

#include <set>

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
  ProgramAsker(ProgramOp program, const llvm::StringSet<> &updated)
      : program_(program), updated_(updated) {}

  /// What the call wants on the rank where it wants most.
  int64_t workspaceOf(CallOp call);

private:
  /// Per rank the box that it has of a tensor.
  using Boxes = std::vector<rt::TensorInfo>;

  int64_t ask(CallOp call, ArrayRef<bool> areConstant);
  const Boxes *boxesOf(Value buffer);
  bool isConstant(Value buffer) const;

  ProgramOp program_;
  const llvm::StringSet<> &updated_;
  llvm::DenseMap<BufferType, std::unique_ptr<Boxes>> boxes_;
  llvm::DenseMap<Attribute, int64_t> known_; ///< By all that it depends on.
};

/// See Passes.td.
class AskKernelsPass : public divisi::impl::AskKernelsBase<AskKernelsPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// Null if a kernel cannot see the element type.
const ProgramAsker::Boxes *ProgramAsker::boxesOf(Value buffer) {
  auto type = cast<BufferType>(buffer.getType());
  std::unique_ptr<Boxes> &boxes = boxes_[type];
  bool isNew = !boxes;
  if (isNew) {
    boxes = std::make_unique<Boxes>();
  }
  std::optional<rt::TensorInfo> info = kernelTensor(type.getTensor());
  spmd::GridOp grid = spmd::lookupGrid(program_, type.getGrid());
  if (isNew && info && grid) {
    spmd::LocalAttr local = spmd::getLocal(type.getTensor());
    for (auto [position, device] : llvm::enumerate(grid.getDeviceIds())) {
      if (!llvm::binary_search(program_.getRanks(), device)) {
        continue;
      }
      rt::TensorInfo &box = boxes->emplace_back(*info);
      for (auto [dim, interval] : llvm::enumerate(local.getLayout().box(
               local.getGrid(), local.getGlobalShape(), int64_t(position)))) {
        box.extents[dim] = interval.size();
        box.offset[dim] = interval.begin;
      }
    }
  }
  bool isComplete = boxes->size() == program_.getRanks().size();
  return isComplete ? boxes.get() : nullptr;
}

/// As a session sees it: a constant, or a global that no entry updates.
bool ProgramAsker::isConstant(Value buffer) const {
  Operation *root = rootOf(buffer).getDefiningOp();
  auto global = dyn_cast<GlobalOp>(root);
  return isa<ConstantOp>(root) ||
         (global && !updated_.contains(global.getGlobal()));
}

/// As `run` chooses it, unless told otherwise.
static int64_t askKernel(const rt::CallSite &site, int version) {
  const rt::Backend *const backends[] = {&rt::cpuBackend(),
                                         &rt::referenceBackend()};
  const rt::Backend *backend = rt::chooseBackend(site, version, backends);
  return backend ? backend->find(site, version)->query(site).workspaceBytes : 0;
}

int64_t ProgramAsker::ask(CallOp call, ArrayRef<bool> areConstant) {
  SmallVector<const Boxes *> operands, results;
  for (Value input : call.getInputs()) {
    operands.push_back(boxesOf(input));
  }
  for (Value output : call.getOutputs()) {
    results.push_back(boxesOf(output));
  }
  if (llvm::is_contained(operands, nullptr) ||
      llvm::is_contained(results, nullptr)) {
    return 0;
  }
  rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
  int version = rt::kernelVersion(call.getCallee()).value_or(0);
  std::vector<const void *> constants;
  for (bool isConstant : areConstant) {
    constants.push_back(isConstant ? &attributes : nullptr); // any address
  }
  int64_t most = 0;
  std::set<std::vector<rt::Dims>> asked; // by extents, which decide
  for (size_t rank = 0; rank < program_.getRanks().size(); ++rank) {
    std::vector<rt::TensorInfo> from, to;
    std::vector<rt::Dims> extents;
    for (const Boxes *boxes : operands) {
      from.push_back((*boxes)[rank]);
      extents.push_back(from.back().extents);
    }
    bool isEmpty = true;
    for (const Boxes *boxes : results) {
      to.push_back((*boxes)[rank]);
      extents.push_back(to.back().extents);
      isEmpty = isEmpty && to.back().count() == 0;
    }
    if (!isEmpty && asked.insert(std::move(extents)).second) {
      most = std::max(
          most, askKernel({call.getCallee(), attributes, from, to, constants},
                          version));
    }
  }
  return most;
}

int64_t ProgramAsker::workspaceOf(CallOp call) {
  Builder builder(call.getContext());
  SmallVector<Attribute> key = {call.getCalleeAttr(), call.getConfig()};
  SmallVector<bool> areConstant;
  for (Value input : call.getInputs()) {
    key.push_back(TypeAttr::get(input.getType()));
    areConstant.push_back(isConstant(input));
  }
  for (Value output : call.getOutputs()) {
    key.push_back(TypeAttr::get(output.getType()));
  }
  key.push_back(builder.getDenseBoolArrayAttr(areConstant));
  auto [known, isNew] = known_.try_emplace(builder.getArrayAttr(key), 0);
  if (isNew) {
    known->second = ask(call, areConstant);
  }
  return known->second;
}

void AskKernelsPass::runOnOperation() {
  ModuleOp module = getOperation();
  divisi::Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    emitStatus(module.getLoc(), cluster.status());
    return signalPassFailure();
  }
  if (!hasKnownKernels(*cluster)) {
    return;
  }
  llvm::StringSet<> updated;
  module.walk([&](NewGlobalOp op) { updated.insert(op.getGlobal()); });
  for (auto program : module.getOps<ProgramOp>()) {
    ProgramAsker asker(program, updated);
    for (CallOp call : program.getBody().getOps<CallOp>()) {
      if (int64_t bytes = asker.workspaceOf(call)) {
        call.setWorkspace(bytes);
        ++numWorkspaces;
      }
    }
  }
}
