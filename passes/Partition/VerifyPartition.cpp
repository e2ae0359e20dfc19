//===- VerifyPartition.cpp - Prove a partitioned program ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types of a partitioned program are claims. The proof of them is in
// lib/Verify, which shares no code with the passes that have made them.
//
//===----------------------------------------------------------------------===//

#include "divisi/Verify/Partition.h"
#include "passes/Partition/Passes.h"

#define DEBUG_TYPE "verify-partition"

namespace divisi {
#define GEN_PASS_DEF_VERIFYPARTITION
#include "passes/Partition/Passes.h.inc"
} // namespace divisi

using namespace divisi;

namespace {
/// See Passes.td.
class VerifyPartitionPass
    : public divisi::impl::VerifyPartitionBase<VerifyPartitionPass> {
  void runOnOperation() override {
    if (failed(verifyPartition(getOperation()))) {
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
