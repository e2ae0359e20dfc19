//===- Train.cpp - Make a training step of the entry ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   @forward: %y = …; return %y
//   becomes
//   @train_step: %y = …; loss; gradients; updates; return %loss
//
//===----------------------------------------------------------------------===//

#include "passes/Train/Passes.h"

#include "divisi/Autodiff/Training.h"
#include "passes/StatusDiagnostic.h"

namespace divisi {
#define GEN_PASS_DEF_TRAIN
#include "passes/Train/Passes.h.inc"
} // namespace divisi

using namespace divisi;
using namespace mlir;

namespace {

class TrainPass : public divisi::impl::TrainBase<TrainPass> {
public:
  void runOnOperation() override {
    Expected<TrainOptions> options = notedTraining(getOperation());
    if (!options) {
      emitStatus(getOperation().getLoc(), options.status());
      return signalPassFailure();
    }
    if (options->isWanted() &&
        failed(makeTrainingStep(getOperation(), *options))) {
      signalPassFailure();
    }
  }
};

} // namespace
