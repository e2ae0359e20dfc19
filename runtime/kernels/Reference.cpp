//===- Reference.cpp - The reference backend ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/OperatorKinds.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Formats.h"
#include "runtime/kernels/Region.h"

#include <algorithm>

namespace divisi::rt {
namespace {

const RegionRunner &referenceAlone() {
  static const Backend *const backends[] = {&referenceBackend()};
  static const RegionRunner runner{backends};
  return runner;
}

/// Joins the families' tables.
class ReferenceBackend final : public Backend {
public:
  ReferenceBackend() {
    for (auto family :
         {unaryKernels(), elementwiseKernels(), contractionKernels(),
          windowKernels(), reduceKernels(), normalizeKernels(),
          movementKernels(), indexKernels(), orderKernels(), scatterKernels(),
          attentionKernels(), attentionGradientKernels(), rotaryKernels(),
          quantizeKernels(), windowGradKernels(), integerKernels(),
          randomKernels()}) {
      kernels_.insert(kernels_.end(), family.begin(), family.end());
    }
    kernels_.push_back(regionKernel<&referenceAlone>());
    std::vector<Kernel> formatted = throughPlain(kernels_);
    kernels_.insert(kernels_.end(), formatted.begin(), formatted.end());
    kernels_.push_back(packKernel());
    std::sort(kernels_.begin(), kernels_.end(),
              [](const Kernel &a, const Kernel &b) { return a.op < b.op; });
  }
  std::string_view name() const override { return "reference"; }
  std::span<const Kernel> kernels() const override { return kernels_; }

private:
  std::vector<Kernel> kernels_;
};

} // namespace

const Backend &referenceBackend() {
  static const ReferenceBackend backend;
  return backend;
}

static bool isIn(std::span<const Kernel> family, std::string_view op) {
  return std::any_of(family.begin(), family.end(), [&](const Kernel &kernel) {
    return kernel.op == op && kernel.use == KernelUse::Parts;
  });
}

bool isElementwise(std::string_view op) {
  return isIn(unaryKernels(), op) || isIn(elementwiseKernels(), op) ||
         isIn(quantizeKernels(), op);
}

bool isMovement(std::string_view op) { return isIn(movementKernels(), op); }

KernelQuery queryNothing(const CallSite &) { return {}; }

KernelQuery queryInPlace(const CallSite &site) {
  KernelQuery query;
  if (site.results.size() != 1) {
    return query;
  }
  const TensorInfo &result = site.results[0];
  for (size_t i = 0; i < site.operands.size(); ++i) {
    if (isSameBox(site.operands[i], result) &&
        byteWidth(site.operands[i].type) == byteWidth(result.type)) {
      query.inPlace.emplace_back(int(i), 0);
    }
  }
  return query;
}

Status evaluate(std::string_view op, const Attributes &attributes,
                std::span<const TensorInfo> operands,
                std::span<const void *const> operandData,
                std::span<const TensorInfo> results,
                std::span<void *const> resultData) {
  CallSite site{op, attributes, operands, results};
  const Kernel *kernel = referenceBackend().find(site);
  if (!kernel) {
    return makeError(ExitCode::Unsupported, "no reference kernel for ", op);
  }
  std::string error;
  std::unique_ptr<PreparedKernel> prepared = kernel->prepare(site, error);
  if (!prepared) {
    return Status(ExitCode::Unsupported, error);
  }
  for (const TensorInfo &result : results) {
    if (result.count() == 0) {
      return {};
    }
  }
  // 64 bytes more, to begin at a multiple of 64.
  int64_t bytes = kernel->query(site).workspaceBytes;
  std::vector<std::byte> workspace(bytes ? bytes + 64 : 0);
  auto address = reinterpret_cast<uintptr_t>(workspace.data());
  auto *aligned = workspace.data() + (-address & 63);
  LaunchContext context{operandData, resultData, bytes ? aligned : nullptr};
  Status status = prepared->launch(context);
  return context.badIndex
             ? Status(ExitCode::Invalid, context.badIndex->message())
             : status;
}

} // namespace divisi::rt
