//===- Passes.h - Passes of the Lower stage ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From operators on local tensors to instructions on buffers.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_PASSES_H
#define DIVISI_PASSES_LOWER_PASSES_H

#include "dialects/Exec/Exec.h"
#include "divisi/Evaluate/DeviceTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace divisi {

#define GEN_PASS_DECL
#include "passes/Lower/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Lower/Passes.h.inc"

/// `place-spaces`, asking the kernels of `device`, of which there are some.
std::unique_ptr<mlir::Pass> createPlaceSpaces(const DeviceTarget &device);
/// `generate-code` for a processor of `level`, unless it is empty, and for the
/// device, if its kernels take code.
std::unique_ptr<mlir::Pass> createGenerateCode(const std::string &level,
                                               const DeviceTarget &device);
/// `write-globals`, asking them too, if there are any.
std::unique_ptr<mlir::Pass> createWriteGlobals(const DeviceTarget &device);
/// `ask-kernels`, likewise.
std::unique_ptr<mlir::Pass> createAskKernels(const DeviceTarget &device);
/// `plan-memory`, likewise.
std::unique_ptr<mlir::Pass> createPlanMemory(const DeviceTarget &device);

/// How programs are lowered.
struct LowerOptions {
  /// Else kernels are not asked for the scratch memory that they want: all of
  /// it is then beside the arena.
  bool plansScratch = true;
  bool choosesFormats = true; ///< Else tensors are row-major, whoever packs.
  DeviceTarget device = {};   ///< Unless it has no backend, what works there.
  /// The processor that regions become code of (RowCode.h); empty: none does.
  std::string nativeLevel = {};
  bool proves = true; ///< Else nobody runs what is made, and nothing is proved.
};

/// Appends the stage: partitioned functions in, placed programs out.
void buildLowerPipeline(mlir::OpPassManager &manager,
                        const LowerOptions &options = {});

/// Makes the stage known as `divisi-lower`.
void registerLowerPipeline();

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_PASSES_H
