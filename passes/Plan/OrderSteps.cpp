//===- OrderSteps.cpp - Operators in the order of a pipeline --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/OrderSteps.h"

#include "passes/Plan/Passes.h"

namespace divisi {
#define GEN_PASS_DEF_ORDERSTEPS
#include "passes/Plan/Passes.h.inc"
} // namespace divisi

namespace {

/// See Passes.td.
class OrderStepsPass : public divisi::impl::OrderStepsBase<OrderStepsPass> {
public:
  void runOnOperation() override { divisi::orderSteps(getOperation()); }
};

} // namespace
