//===- Tidy.cpp - Programs in the form of Import --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Optimize/Tidy.h"

#include "mlir/Transforms/Passes.h"

using namespace divisi;
using namespace divisi::optimize;

Tidy::Tidy(mlir::MLIRContext *context) : passes_(context) {
  // Stages verify what comes of it.
  passes_.enableVerifier(false);
  passes_.addPass(mlir::createCanonicalizerPass());
  passes_.addPass(mlir::createCSEPass());
}

Status Tidy::run(mlir::ModuleOp module) {
  return mlir::succeeded(passes_.run(module))
             ? Status()
             : Status(ExitCode::Internal,
                      "a rewritten program cannot be simplified");
}
