//===- Unflatten.cpp - The pass nn-unflatten ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   reshape [8, 16, 64] → [128, 64]; matmul "mk,kn->mn"; reshape → [8, 16, 32]
//   becomes matmul "mak,kn->man"
//
// The algorithm is divisi/Unflatten/Unflatten.h's.
//
//===----------------------------------------------------------------------===//

#include "divisi/Unflatten/Unflatten.h"
#include "passes/Import/Passes.h"

namespace divisi {
#define GEN_PASS_DEF_UNFLATTEN
#include "passes/Import/Passes.h.inc"
} // namespace divisi

namespace {

class UnflattenPass : public divisi::impl::UnflattenBase<UnflattenPass> {
public:
  void runOnOperation() override {
    llvm::FailureOr<int64_t> rewritten = divisi::unflatten(getOperation());
    if (failed(rewritten)) {
      return signalPassFailure();
    }
    numRewritten += *rewritten;
  }
};

} // namespace
