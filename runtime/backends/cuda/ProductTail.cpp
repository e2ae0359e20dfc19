//===- ProductTail.cpp - What code does behind a library ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/ProductTail.h"
#include "runtime/backends/cuda/Families.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

bool ProductTail::isCoded(const ProductRegion &region, const CallSite &site) {
  return region.hasTail() ? site.code && acceptsGrid(region.tail(site.code))
                          : !site.code;
}

int ProductTail::placeOf(const ProductRegion &region) {
  if (!region.hasTail()) {
    return 0;
  }
  const std::vector<int> &operands = region.tailOperands();
  auto made = std::ranges::find(operands, -1) - operands.begin();
  for (auto [operand, result] : queryGrid(region.tail()).inPlace) {
    if (operand == made) {
      return result;
    }
  }
  return -1;
}

bool ProductTail::prepare(const ProductRegion &region, const CallSite &site,
                          std::string &error) {
  place_ = placeOf(region);
  numbers_ = region.tailOperands();
  if (region.hasTail()) {
    kernel_ = prepareGrid(region.tail(site.code), error);
  }
  return kernel_ || !region.hasTail();
}

Status ProductTail::launch(const LaunchContext &context) {
  if (!kernel_) {
    return {};
  }
  operands_.clear();
  for (int number : numbers_) {
    operands_.push_back(number < 0
                            ? made(context)
                            : context.operands[static_cast<size_t>(number)]);
  }
  LaunchContext rest = context;
  rest.operands = operands_;
  return kernel_->launch(rest);
}
