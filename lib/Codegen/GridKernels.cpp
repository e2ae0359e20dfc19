//===- GridKernels.cpp - From regions to kernels of GPUs ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "EmulatedGrid.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/ProductRegion.h"
#include "divisi/runtime/code/RowCall.h"
#include "divisi/runtime/code/RowCode.h"
#include "lib/Codegen/EmitAttention.h"
#include "lib/Codegen/EmitElements.h"
#include "lib/Codegen/EmitGather.h"
#include "lib/Codegen/EmitGrid.h"
#include "lib/Codegen/EmitMove.h"
#include "lib/Codegen/EmitReduce.h"
#include "lib/Codegen/LowerGrid.h"
#include "lib/Codegen/LowerRows.h"
#include "lib/Codegen/ObjectFile.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <variant>

using namespace mlir;
using namespace divisi;

/// What a kernel can be handed: 4 KiB since CUDA 1.0 (PTX ISA, "Kernel Function
/// Parameters").
static constexpr size_t mostParameterBytes = 4096;

/// Calls `body` with the call that there is code for: a region, or what is left
/// of it behind a product that a library does. Nothing if there is no such
/// call.
template <typename Body>
static auto withCoded(const rt::CallSite &site, Body body)
    -> decltype(body(site)) {
  std::optional<rt::ProductRegion> product;
  if (site.region && (product = rt::ProductRegion::of(site))) {
    return product->hasTail() ? body(product->tail()) : decltype(body(site))();
  }
  return body(site);
}

/// Operators with kernels of their own, which are no regions.
using Single =
    std::variant<rt::GridMove, rt::GridReduce, rt::GridGather,
                 rt::GridAttention, rt::GridAttentionGradient, rt::GridPool,
                 rt::GridResample, rt::GridCumulate, rt::GridPick, rt::GridIota,
                 rt::GridRotary, rt::GridScatter, rt::GridInsert,
                 rt::GridColumns, rt::GridProduct, rt::GridConvolution>;

template <size_t first = 0>
static std::optional<Single> findSingle(const rt::CallSite &site) {
  if constexpr (first < std::variant_size_v<Single>) {
    using Candidate = std::variant_alternative_t<first, Single>;
    auto found = Candidate::of(site);
    return found ? std::optional<Single>(*std::move(found))
                 : findSingle<first + 1>(site);
  }
  return std::nullopt;
}

static size_t countParameters(const rt::CallSite &site) {
  if (auto single = findSingle(site)) {
    return std::visit(
        [](const auto &kernel) {
          return kernel.pointerCount() + kernel.numberCount();
        },
        *single);
  }
  rt::RowCall call = *rt::RowCall::of(site);
  return call.nest().tensors.size() + rt::numberCount(call.nest());
}

static bool generatesRows(const rt::CallSite &site) {
  std::optional<rt::RowCall> call = rt::RowCall::of(site);
  return call && RowProgram::of(call->site(), call->nest());
}

bool divisi::generatesGridKernel(const rt::CallSite &call) {
  return withCoded(call, [](const rt::CallSite &site) {
    return (findSingle(site) || generatesRows(site)) &&
           countParameters(site) * sizeof(int64_t) <= mostParameterBytes;
  });
}

std::string divisi::gridStructure(const rt::CallSite &call) {
  if (auto single = findSingle(call)) {
    return std::visit([](const auto &kernel) { return kernel.structure(); },
                      *single);
  }
  return withCoded(call, codeStructure);
}

/// The mapped form.
static OwningOpRef<ModuleOp> mapRegion(const rt::CallSite &site,
                                       MLIRContext &context) {
  loadGridDialects(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  if (auto single = findSingle(site)) {
    std::visit([&](const auto &kernel) { emitKernel(*module, kernel); },
               *single);
    return module;
  }
  rt::RowCall call = *rt::RowCall::of(site);
  emitGrid(*module, *RowProgram::of(call.site(), call.nest()), call.nest());
  return module;
}

static Status notMade() {
  return makeError(ExitCode::Internal, "no kernel could be made of a region");
}

static divisi::Expected<std::string>
generatePtx(const rt::CallSite &site, const std::string &architecture,
            const UserCache *cache) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = mapRegion(site, context);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> lowered =
      succeeded(mapToNvvm(*module)) ? lowerRows(*module, llvmContext) : nullptr;
  return !lowered ? notMade()
                  : compileOnce(*lowered, "PTX of " + architecture, cache,
                                [&](llvm::Module &module) {
                                  return assemblePtx(module, architecture);
                                });
}

static divisi::Expected<std::string> generateEmulated(const rt::CallSite &site,
                                                      const std::string &level,
                                                      const UserCache *cache) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = mapRegion(site, context);
  emulateGrid(*module);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> lowered = lowerRows(*module, llvmContext);
  if (!lowered) {
    return notMade();
  }
  divisi::Expected<std::string> linked = compileOnce(
      *lowered, "emulated, " + level, cache, [&](llvm::Module &module) {
        return compileAndLink(module, level, emulatedFunctionName);
      });
  if (!linked) {
    return linked;
  }
  EmulatedHeader header;
  header.parameters = countParameters(site);
  header.bytes = linked->size();
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header)) +
         *linked;
}

divisi::Expected<std::string>
divisi::generateGridKernel(const rt::CallSite &call, const std::string &target,
                           const UserCache *cache) {
  std::string architecture(rt::architectureOfTarget(target));
  std::string level(rt::levelOfEmulated(target));
  std::optional<divisi::Expected<std::string>> made =
      withCoded(call, [&](const rt::CallSite &site) {
        return std::optional(architecture.empty()
                                 ? generateEmulated(site, level, cache)
                                 : generatePtx(site, architecture, cache));
      });
  return *made;
}
