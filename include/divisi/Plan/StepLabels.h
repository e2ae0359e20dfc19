//===- StepLabels.h - Which step an operator belongs to ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps follow from what operators use:
//
//   micro-batch   the first one, which stands for all: what has `pipe.each`, or
//                 depends on an input if there is one alone. What depends on
//                 none belongs to no step.
//   F             what the first result, the loss, is made of; in a program
//                 without gradients, all.
//   I             what the chunks before go on with
//   W             the rest
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_STEPLABELS_H
#define DIVISI_PLAN_STEPLABELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace divisi::plan {

/// What the steps of an entry are.
struct StepKinds {
  int64_t numMicroBatches = 1; ///< At least 1.
  bool isTraining = false;     ///< Whether there are backward steps.
};

/// Lets the operators of `entry`, on `chunks`, belong to steps.
StepKinds labelSteps(mlir::func::FuncOp entry,
                     const llvm::DenseMap<mlir::Operation *, int64_t> &chunks);

} // namespace divisi::plan

#endif // DIVISI_PLAN_STEPLABELS_H
