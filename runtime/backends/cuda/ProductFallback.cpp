//===- ProductFallback.cpp - Code in the place of a library ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/ProductFallback.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridConvolution.h"
#include "divisi/runtime/code/GridProduct.h"

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

ProductFallback::ProductFallback(const ProductRegion &region,
                                 const CallSite &site)
    : numbers_(region.productOperands()) {
  if (!site.fallback || !isGridTarget(site.fallback->target)) {
    return;
  }
  bytes_ = site.fallback->bytes;
  CallSite product = region.product();
  if (auto kernel = GridConvolution::of(product)) {
    launch_ = kernel->launch();
  } else if (auto matrices = GridProduct::of(product)) {
    launch_ = matrices->launch();
  }
}

Status ProductFallback::load(const std::shared_ptr<const Context> &context) {
  auto made = std::make_unique<PreparedLaunches>(std::vector{*launch_});
  Status status = made->load(bytes_);
  if (status.isOk()) {
    status = made->makeReady(context);
  }
  if (status.isOk()) {
    kernel_ = std::move(made);
  }
  return status;
}

Status ProductFallback::launch(const LaunchContext &context, void *made) {
  operands_.clear();
  for (int number : numbers_) {
    operands_.push_back(context.operands[static_cast<size_t>(number)]);
  }
  LaunchContext own = context;
  own.operands = operands_;
  own.results = {&made, 1};
  return kernel_->launch(own);
}
