//===- GenerateCode.cpp - Make code of regions ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code depends on the structure of a region, not on extents: equal layers, and
// all ranks, have one. An operator that stands alone is a region of one:
//
//   exec.call "nn.softmax"(%x) into (%y) {axis = 1}
//   exec.call "fused"(%x) into (%y) {} code @rows_0 { nn.softmax … }
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"
#include "passes/Lower/Passes.h"
#include "passes/Lower/RemakeCode.h"

#include "divisi/Codegen/GridKernels.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Profile/RegionTimes.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridTarget.h"
#include "divisi/runtime/code/ProductRegion.h"
#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/code/RowCode.h"
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "passes/StatusDiagnostic.h"

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
  GenerateCodePass(const std::string &wanted, const DeviceTarget &device)
      : backend_(device.backend) {
    level = wanted;
    deviceTarget = device.codeTarget;
  }
  void runOnOperation() override;

private:
  bool isOfDevice(CallOp call, CallSites &sites) const;
  LogicalResult addCode(CallOp call, CallSites &sites);
  LogicalResult addCodeAlone(CallOp call, CallSites &sites);
  LogicalResult addFallback(CallOp call, CallSites &sites);
  LogicalResult addAny(CallOp call, CallSites &sites, bool isForHost);
  LogicalResult addCodes(ProgramOp program, const llvm::StringSet<> &updated,
                         bool isForHost);
  FailureOr<FlatSymbolRefAttr> codeFor(const rt::CallSite &site,
                                       bool isOnDevice, Location loc);
  LogicalResult assembleCodes();

  /// By structure; of the host, and of the device.
  std::map<std::string, FlatSymbolRefAttr> known_[2];
  /// What calls of the device get, by all that it depends on: code, fallback.
  /// Of one program.
  llvm::DenseMap<Attribute, std::pair<FlatSymbolRefAttr, FlatSymbolRefAttr>>
      ofDevice_;
  int64_t nextNumber_ = 0;               ///< In the name of a code.
  std::optional<UserCache> cache_;       ///< While it runs.
  std::vector<CodeOp> kernels_;          ///< That were made for the device.
  const rt::Backend *backend_ = nullptr; ///< Of the device.
};

} // namespace

static std::string structureOf(const rt::CallSite &site, bool isOnDevice) {
  return isOnDevice ? gridStructure(site) : codeStructure(site);
}

FailureOr<FlatSymbolRefAttr> GenerateCodePass::codeFor(const rt::CallSite &site,
                                                       bool isOnDevice,
                                                       Location loc) {
  FlatSymbolRefAttr &code = known_[isOnDevice][structureOf(site, isOnDevice)];
  if (code) {
    return code;
  }
  divisi::Expected<std::string> bytes =
      isOnDevice ? generateGridKernel(site, deviceTarget, &*cache_)
                 : generateCode(site, level, &*cache_);
  if (!bytes) {
    emitStatus(loc, bytes.status());
    return failure();
  }
  ModuleOp module = getOperation();
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  std::string name;
  do {
    name = "rows_" + std::to_string(nextNumber_++);
  } while (module.lookupSymbol(name));
  ++numCodes;
  auto made = CodeOp::create(
      builder, loc, name,
      isOnDevice ? std::string(rt::ptxOf(deviceTarget.getValue()))
                 : rt::nativeTarget(level.getValue()),
      *bytes);
  if (isOnDevice) {
    kernels_.push_back(made);
  }
  return code = FlatSymbolRefAttr::get(&getContext(), name);
}

/// Whether code is at least as fast as the parts one by one: by what was
/// measured, else masked vectors are half empty in short rows.
static bool isFaster(const rt::CallSite &site) {
  if (std::optional<RegionTimes> times = regionTimes(site)) {
    return times->code <= times->parts;
  }
  constexpr int64_t fewestColumns = 32;
  return llvm::all_of(rt::RowCall::of(site)->pieces(),
                      [](const rt::RowCall::Piece &piece) {
                        return piece.nest.columns() >= fewestColumns;
                      });
}

/// On each rank that makes something the call has the structure of the first.
LogicalResult GenerateCodePass::addCode(CallOp call, CallSites &sites) {
  bool isOnDevice = !call.getSpace().empty();
  std::string structure;
  bool isSame = sites.all(call, [&](const rt::CallSite &site, int) {
    bool isTaken = isOnDevice ? generatesGridKernel(site)
                              : generatesCode(site) && isFaster(site);
    if (!isTaken) {
      return false;
    }
    std::string own = structureOf(site, isOnDevice);
    structure = structure.empty() ? own : structure;
    return structure == own;
  });
  if (!isSame || structure.empty()) {
    return success();
  }
  FailureOr<FlatSymbolRefAttr> code = failure();
  sites.all(call, [&](const rt::CallSite &site, int) {
    code = codeFor(site, isOnDevice, call.getLoc());
    return false; // one is like the others
  });
  if (succeeded(code)) {
    call.setCodeAttr(*code);
    ++numCalls;
  }
  return success(succeeded(code));
}

/// Whether `call`, of one operator, may become a region.
static bool mayStandAlone(CallOp call) {
  StringRef op = call.getCallee();
  return !call.isFused() && (rt::isElementwise(op) || rt::findRowOperator(op));
}

/// The same as a call with a region, in front of it.
static CallOp makeRegion(CallOp call) {
  OpBuilder builder(call);
  Location loc = call.getLoc();
  auto made =
      CallOp::create(builder, loc, ExecDialect::kFused, call.getInputs(),
                     call.getOutputs(), builder.getDictionaryAttr({}));
  Block *block = builder.createBlock(&made.getBody());
  auto typeOf = [](Value buffer) {
    return cast<BufferType>(buffer.getType()).getTensor();
  };
  OperationState part(loc, call.getCallee());
  for (Value input : call.getInputs()) {
    part.operands.push_back(block->addArgument(typeOf(input), loc));
  }
  part.addTypes(llvm::map_to_vector(
      call.getOutputs(), [&](Value output) -> Type { return typeOf(output); }));
  part.addAttributes(call.getConfig().getValue());
  YieldOp::create(builder, loc, builder.create(part)->getResults());
  return made;
}

/// Lets an operator be a region if there is code for that.
LogicalResult GenerateCodePass::addCodeAlone(CallOp call, CallSites &sites) {
  CallOp made = makeRegion(call);
  if (failed(addCode(made, sites))) {
    return failure();
  }
  (made.getCode() ? call : made).erase();
  return success();
}

/// Whether the device has a kernel of its own for the call.
bool GenerateCodePass::isOfDevice(CallOp call, CallSites &sites) const {
  return backend_ &&
         sites.all(call, [&](const rt::CallSite &site, int version) {
           return backend_->find(site, version) != nullptr;
         });
}

/// Lets a library's part have code, too, where that may have nothing for it on
/// some rank: one, as it depends on nothing in which ranks differ.
LogicalResult GenerateCodePass::addFallback(CallOp call, CallSites &sites) {
  FlatSymbolRefAttr fallback;
  bool isMade = true;
  sites.all(call, [&](const rt::CallSite &site, int version) {
    const rt::Kernel *kernel = backend_->find(site, version);
    std::optional<rt::ProductRegion> region;
    if (kernel && kernel->mayFallBack) {
      region = rt::ProductRegion::of(site);
    }
    if (!region || !generatesGridKernel(region->product())) {
      return true;
    }
    FailureOr<FlatSymbolRefAttr> code =
        codeFor(region->product(), /*isOnDevice=*/true, call.getLoc());
    isMade = succeeded(code);
    fallback = isMade ? *code : FlatSymbolRefAttr();
    return false;
  });
  if (fallback) {
    call.setFallbackAttr(fallback);
    ++numFallbacks;
  }
  return success(isMade);
}

/// On a device every call that its own kernels do not do has code: place-spaces
/// has put it there for that.
LogicalResult GenerateCodePass::addAny(CallOp call, CallSites &sites,
                                       bool isForHost) {
  if (call.getSpace().empty()) {
    return !isForHost || call.getCode() ? success()
           : call.isFused()             ? addCode(call, sites)
           : mayStandAlone(call)        ? addCodeAlone(call, sites)
                                        : success();
  }
  if (deviceTarget.empty() || call.getCode()) {
    return success();
  }
  auto [known, isNew] = ofDevice_.try_emplace(sites.keyOf(call));
  auto &[code, fallback] = known->second;
  if (isNew) {
    if (!isOfDevice(call, sites) && failed(addCode(call, sites))) {
      return failure();
    }
    if (backend_ && failed(addFallback(call, sites))) {
      return failure();
    }
    code = call.getCodeAttr();
    fallback = call.getFallbackAttr();
    return success();
  }
  if (code) {
    call.setCodeAttr(code);
    ++numCalls;
  }
  if (fallback) {
    call.setFallbackAttr(fallback);
    ++numFallbacks;
  }
  return success();
}

LogicalResult GenerateCodePass::addCodes(ProgramOp program,
                                         const llvm::StringSet<> &updated,
                                         bool isForHost) {
  CallSites sites(program, updated);
  ofDevice_.clear();
  for (CallOp call :
       llvm::make_early_inc_range(program.getBody().getOps<CallOp>())) {
    if (failed(addAny(call, sites, isForHost))) {
      return failure();
    }
  }
  return success();
}

/// Makes of PTX an image with cubins; it stays PTX where there is no assembler,
/// which the target tells.
LogicalResult GenerateCodePass::assembleCodes() {
  StringRef target = deviceTarget.getValue();
  StringRef ptxTarget = rt::ptxOf(target);
  if (target == ptxTarget) {
    return success();
  }
  Status status = assembleKernels(kernels_, ptxTarget, *cache_);
  if (status.code() == ExitCode::Unsupported) {
    mlir::emitRemark(getOperation().getLoc())
        << "kernels for GPUs are PTX alone: " << status.message();
    return success();
  }
  if (!status.isOk()) {
    emitStatus(getOperation().getLoc(), status);
  }
  return success(status.isOk());
}

void GenerateCodePass::runOnOperation() {
  divisi::Expected<Cluster> cluster = getCluster(getOperation());
  if (!cluster) {
    emitStatus(getOperation().getLoc(), cluster.status());
    return signalPassFailure();
  }
  bool isForHost = !level.empty() && cluster->pace().isProcessor();
  cache_.emplace("native");
  llvm::StringSet<> updated = updatedGlobals(getOperation());
  for (auto program : getOperation().getOps<ProgramOp>()) {
    if (failed(addCodes(program, updated, isForHost))) {
      return signalPassFailure();
    }
  }
  if (failed(assembleCodes())) {
    return signalPassFailure();
  }
  for (auto code : getOperation().getOps<CodeOp>()) {
    numBytes += code.getBytes().size();
  }
}

std::unique_ptr<Pass> divisi::createGenerateCode(const std::string &level,
                                                 const DeviceTarget &device) {
  return std::make_unique<GenerateCodePass>(level, device);
}
