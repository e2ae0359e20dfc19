//===- Passes.h - The Partition stage ---------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_PARTITION_PASSES_H
#define DIVISI_PASSES_PARTITION_PASSES_H

#include "dialects/SPMD/SPMD.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace divisi {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Partition/Passes.h.inc"

/// How the stage is to run.
struct PartitionOptions {
  bool proves = true; ///< Else nobody runs what is made, and nothing is proved.
  int64_t mostBatches = 0; ///< As `most` of `write-micro-batches`.
};

/// From an annotated global program to one local program per rank set.
void buildPartitionPipeline(mlir::OpPassManager &manager,
                            const PartitionOptions &options = {});

} // namespace divisi

#endif // DIVISI_PASSES_PARTITION_PASSES_H
