//===- LowerPrecision.cpp - The pass nn-lower-precision -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %y = matmul %x, %w : f32; %z = softmax %y : f32
//   becomes
//   %y = matmul (cast %x), (cast %w) : bf16 -> f32; %z = softmax %y : f32
//
// The algorithm is divisi/Precision/Precision.h's.
//
//===----------------------------------------------------------------------===//

#include "divisi/Precision/Precision.h"
#include "passes/Import/Passes.h"
#include "passes/StatusDiagnostic.h"

namespace divisi {
#define GEN_PASS_DEF_LOWERPRECISION
#include "passes/Import/Passes.h.inc"
} // namespace divisi

namespace {

class LowerPrecisionPass
    : public divisi::impl::LowerPrecisionBase<LowerPrecisionPass> {
public:
  using LowerPrecisionBase::LowerPrecisionBase;

  void runOnOperation() override {
    divisi::PrecisionOptions options;
    options.type = precision;
    options.keepF32.assign(keepF32.begin(), keepF32.end());
    options.narrowSums = narrowSums;
    options.keepsFirst = keepsFirst;
    divisi::Expected<divisi::PrecisionRecord> record =
        divisi::lowerPrecision(getOperation(), options);
    if (!record) {
      divisi::emitStatus(getOperation().getLoc(), record.status());
      return signalPassFailure();
    }
    numNarrowed += unsigned(record->narrowOperators);
  }
};

} // namespace
