//===- CallSites.cpp - Calls as kernels see them --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Cost/ModuleCluster.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Evaluate/KernelCall.h"
#include "divisi/Profile/HostProcessor.h"
#include "divisi/runtime/code/RowCode.h"
#include "passes/StatusDiagnostic.h"

#include "mlir/IR/Builders.h"

#include <set>

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

/// Nothing if a kernel cannot see some element type.
static std::optional<std::vector<rt::TensorInfo>> infosOf(ValueRange buffers) {
  std::vector<rt::TensorInfo> infos;
  for (Value buffer : buffers) {
    auto type = cast<BufferType>(buffer.getType());
    std::optional<rt::TensorInfo> info = kernelTensor(type.getTensor());
    if (!info) {
      return std::nullopt;
    }
    infos.push_back(std::move(*info));
    infos.back().format = type.getFormat().str();
  }
  return infos;
}

/// What the artifact has for its kernel; null where that is its own.
static CodeOp lookupCode(CallOp call) {
  return call.getCode()
             ? call->getParentOfType<ModuleOp>().lookupSymbol<CodeOp>(
                   call.getCodeAttr())
             : CodeOp();
}

/// Whether it can be made without.
static bool isOptional(CodeOp code) {
  return !rt::levelOfTarget(code.getTarget()).empty();
}

std::optional<rt::KernelQuery> divisi::queryCall(CallOp call) {
  auto from = infosOf(call.getInputs()), to = infosOf(call.getOutputs());
  std::optional<rt::Region> region =
      call.isFused() ? kernelRegion(call.getBody().front()) : std::nullopt;
  CodeOp code = lookupCode(call);
  if (!from || !to || (code && !isOptional(code)) ||
      call.isFused() != region.has_value()) {
    return std::nullopt;
  }
  StringRef callee = call.getCallee();
  rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
  rt::CallSite site{{callee.data(), callee.size()}, attributes, *from, *to};
  site.region = region ? &*region : nullptr;
  const rt::Kernel *kernel = rt::referenceBackend().find(site);
  return kernel ? std::optional(kernel->query(site)) : std::nullopt;
}

bool divisi::mayWriteOver(CallOp call, ArrayRef<InPlace> inPlace, Value result,
                          function_ref<bool(Value)> isOld) {
  // An operand that occurs twice would be read while it is overwritten.
  if (llvm::count_if(call.getInputs(), isOld) != 1) {
    return false;
  }
  int operand = llvm::find_if(call.getInputs(), isOld).getIndex();
  int number = llvm::find(call.getOutputs(), result).getIndex();
  return offsetInRoot(call.getInputs()[operand]) == 0 &&
         llvm::is_contained(inPlace, std::pair(operand, number));
}

FailureOr<bool> divisi::asksHostKernels(ModuleOp module) {
  divisi::Expected<Cluster> cluster = getCluster(module);
  if (!cluster) {
    emitStatus(module.getLoc(), cluster.status());
    return failure();
  }
  return runsKernelsOf(*cluster);
}

llvm::StringSet<> divisi::updatedGlobals(ModuleOp module) {
  llvm::StringSet<> updated;
  module.walk([&](Operation *op) {
    if (auto update = dyn_cast<UpdateOp>(op)) {
      updated.insert(update.getGlobal());
    } else if (auto written = dyn_cast<NewGlobalOp>(op)) {
      updated.insert(written.getGlobal());
    }
  });
  return updated;
}

FailureOr<int64_t> divisi::changeHostPrograms(
    ModuleOp module,
    llvm::function_ref<int64_t(ProgramOp, const llvm::StringSet<> &)> change) {
  FailureOr<bool> asks = asksHostKernels(module);
  if (failed(asks)) {
    return failure();
  }
  int64_t changed = 0;
  llvm::StringSet<> updated = updatedGlobals(module);
  for (auto program : module.getOps<ProgramOp>()) {
    changed += *asks ? change(program, updated) : 0;
  }
  return changed;
}

bool CallSites::haveLibrary(CallOp call) {
  return all(call, [](const rt::CallSite &site, int version) {
    const rt::Kernel *kernel = rt::cpuBackend().find(site, version);
    return kernel && !kernel->library.empty();
  });
}

/// Null if a kernel cannot see the element type.
const CallSites::Boxes *CallSites::boxesOf(BufferType type) {
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
      rt::TensorInfo &box = boxes->infos.emplace_back(*info);
      box.format = type.getFormat().str();
      for (auto [dim, interval] : llvm::enumerate(local.getLayout().box(
               local.getGrid(), local.getGlobalShape(), int64_t(position)))) {
        box.extents[dim] = interval.size();
        box.offset[dim] = interval.begin;
      }
      auto same = llvm::find_if(boxes->infos, [&](const rt::TensorInfo &each) {
        return each.extents == box.extents;
      });
      boxes->first.push_back(uint32_t(same - boxes->infos.begin()));
    }
  }
  bool isComplete = boxes->infos.size() == program_.getRanks().size();
  return isComplete ? boxes.get() : nullptr;
}

bool CallSites::isConstant(Value buffer) const {
  Operation *root = rootOf(buffer).getDefiningOp();
  auto global = dyn_cast<GlobalOp>(root);
  return isa<ConstantOp>(root) ||
         (global && !updated_.contains(global.getGlobal()));
}

/// The types of all that `call` touches: operands, results, and what lies
/// between the parts of a region.
static SmallVector<BufferType> typesOf(CallOp call) {
  SmallVector<BufferType> types;
  for (ValueRange buffers :
       {ValueRange(call.getInputs()), ValueRange(call.getOutputs())}) {
    for (Value buffer : buffers) {
      types.push_back(cast<BufferType>(buffer.getType()));
    }
  }
  for (Block &block : call.getBody()) {
    for (Operation &part : block.without_terminator()) {
      for (Type type : part.getResultTypes()) {
        types.push_back(
            BufferType::get(type.getContext(), cast<RankedTensorType>(type),
                            types.back().getGrid(), types.back().getSpace()));
      }
    }
  }
  return types;
}

/// What its kernel runs; nothing where that is its own, as it is on a machine
/// that cannot run the code.
static std::optional<rt::KernelCode> codeOf(CallOp call) {
  CodeOp code = lookupCode(call);
  if (!code || (isOptional(code) && !rt::runsOnHost(code.getTarget()))) {
    return std::nullopt;
  }
  StringRef bytes = code.getBytes();
  return rt::KernelCode{code.getTarget(),
                        std::as_bytes(std::span(bytes.data(), bytes.size()))};
}

bool CallSites::all(CallOp call, Ask ask) {
  SmallVector<const Boxes *> boxes = llvm::map_to_vector(
      typesOf(call), [&](BufferType type) { return boxesOf(type); });
  if (llvm::is_contained(boxes, nullptr)) {
    return false;
  }
  std::optional<rt::Region> region =
      call.isFused() ? kernelRegion(call.getBody().front()) : std::nullopt;
  rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
  int version = rt::kernelVersion(call.getCallee()).value_or(0);
  std::vector<rt::Constant> constants;
  for (Value input : call.getInputs()) {
    // Any address: only prepare() reads them.
    constants.push_back(isConstant(input) ? &attributes : nullptr);
  }
  std::optional<rt::KernelCode> code = codeOf(call);
  std::set<SmallVector<uint32_t>> asked; // by extents, which decide
  for (size_t rank = 0; rank < program_.getRanks().size(); ++rank) {
    if (!asked
             .insert(llvm::map_to_vector(
                 boxes, [&](const Boxes *each) { return each->first[rank]; }))
             .second) {
      continue;
    }
    std::vector<rt::TensorInfo> infos;
    for (const Boxes *each : boxes) {
      infos.push_back(each->infos[rank]);
    }
    auto from = std::span(infos).first(call.getInputs().size());
    auto rest = std::span(infos).subspan(from.size());
    auto to = rest.first(call.getOutputs().size());
    rest = rest.subspan(to.size());
    rt::CallSite site{call.getCallee(), attributes, from, to, constants};
    site.code = code ? &*code : nullptr;
    if (region) {
      for (rt::RegionPart &part : region->parts) {
        auto results = rest.first(part.results.size());
        part.results.assign(results.begin(), results.end());
        rest = rest.subspan(results.size());
      }
      site.region = &*region;
    }
    bool isEmpty = llvm::all_of(
        to, [](const rt::TensorInfo &info) { return info.count() == 0; });
    if (!isEmpty && !ask(site, version)) {
      return false;
    }
  }
  return true;
}

std::vector<InPlace> CallSites::inPlace(CallOp call,
                                        const rt::Backend *device) {
  if (call.getSpace().empty()) {
    std::optional<rt::KernelQuery> query = queryCall(call);
    return query ? query->inPlace : std::vector<InPlace>();
  }
  // Who makes several results may read an operand for one of them when another
  // has been written.
  if (!device || StringRef(device->space()) != call.getSpace() ||
      call.getOutputs().size() != 1) {
    return {};
  }
  std::optional<std::vector<InPlace>> allowed;
  bool isTaken = all(call, [&](const rt::CallSite &site, int version) {
    const rt::Kernel *kernel = device->find(site, version);
    if (!kernel) {
      return false;
    }
    std::vector<InPlace> own = kernel->query(site).inPlace;
    allowed = allowed.value_or(own);
    llvm::erase_if(
        *allowed, [&](InPlace pair) { return !llvm::is_contained(own, pair); });
    return true;
  });
  return isTaken && allowed ? *allowed : std::vector<InPlace>();
}

/// What the parts of a call's region are, as one attribute.
static Attribute keyOf(Block &block) {
  Builder builder(block.getParentOp()->getContext());
  SmallVector<Attribute> key;
  llvm::DenseMap<Value, int64_t> numbers;
  auto number = [&](Value value) {
    numbers.try_emplace(value, int64_t(numbers.size()));
  };
  llvm::for_each(block.getArguments(), number);
  for (Operation &op : block) {
    SmallVector<int64_t> operands =
        llvm::map_to_vector(op.getOperands(), [&](Value operand) {
          return numbers.lookup(operand);
        });
    key.append({op.getName().getIdentifier(), kernelConfig(&op),
                builder.getTypeArrayAttr(llvm::to_vector(op.getResultTypes())),
                builder.getDenseI64ArrayAttr(operands)});
    llvm::for_each(op.getResults(), number);
  }
  return builder.getArrayAttr(key);
}

Attribute CallSites::keyOf(CallOp call) const {
  Builder builder(call.getContext());
  SmallVector<Attribute> key = {call.getCalleeAttr(), call.getConfig()};
  if (call.getCode()) {
    key.push_back(call.getCodeAttr());
  }
  SmallVector<bool> areConstant;
  for (Value input : call.getInputs()) {
    key.push_back(TypeAttr::get(input.getType()));
    areConstant.push_back(isConstant(input));
  }
  for (Value output : call.getOutputs()) {
    key.push_back(TypeAttr::get(output.getType()));
  }
  key.push_back(builder.getDenseBoolArrayAttr(areConstant));
  for (Block &block : call.getBody()) {
    key.push_back(::keyOf(block));
  }
  return builder.getArrayAttr(key);
}
