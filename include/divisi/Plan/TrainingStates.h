//===- TrainingStates.h - What a training step keeps ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A training step keeps parameters, their gradients until all are known, and
// the states of its optimizer. Where each rests is a choice of its own, so ZeRO
// is a set of constraints on these choices:
//
//               parameters   gradients   states
//   --zero 0    whole        whole       whole
//   --zero 1    whole        whole       parts
//   --zero 2    whole        parts       parts
//   --zero 3    parts        parts       parts
//   --zero 8,8,64     over as many devices of the data axes
//
// What is what follows from the program: parameters are what the batch meets of
// what is updated (or the cast of it that the batch meets, where masters are of
// another type); gradients are made of the batch and of no state; all else that
// is updated is a state of the optimizer.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_TRAININGSTATES_H
#define DIVISI_PLAN_TRAININGSTATES_H

#include "divisi/Plan/ModuleDataflow.h"
#include "divisi/Support/Status.h"

namespace divisi {

/// Over how many devices of the data axes the parts of a step's states are
/// split, at most: none over more than there are.
struct ZeroDegrees {
  int64_t parameters = 1; ///< 1: not split.
  int64_t gradients = 1;  ///< The same.
  int64_t states = 1;     ///< Of the optimizer.

  /// Of a tensor that is one of these.
  int64_t of(plan::StateKind kind) const {
    return kind == plan::StateKind::Parameter  ? parameters
           : kind == plan::StateKind::Gradient ? gradients
                                               : states;
  }
};

/// `0` to `3`, a stage; or three numbers, `8,8,64`. ExitCode::Usage for others.
Expected<ZeroDegrees> parseZero(llvm::StringRef text);

namespace plan {

/// Finds StateKind of all tensors of `dataflow`.
void findStates(ModuleDataflow &dataflow);

/// Whether there is anything that ZeRO is about.
bool hasStates(const Dataflow &dataflow);

} // namespace plan
} // namespace divisi

#endif // DIVISI_PLAN_TRAININGSTATES_H
