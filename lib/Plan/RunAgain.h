//===- RunAgain.h - Forward operators that run again ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   %h = nn.matmul %x, %w          forward
//   %y = nn.gelu %h
//   ...
//   %0 = nn.mul %g, %h             backward
//   becomes
//   %h = nn.matmul %x, %w
//   %y = nn.gelu %h
//   ...
//   %h' = nn.matmul %x, %w
//   %0 = nn.mul %g, %h'
//
// with the strategies and places of the operators that are copied, so that a
// plan stays one and computes the same bits. Nothing after planning joins equal
// operators.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RUNAGAIN_H
#define DIVISI_LIB_PLAN_RUNAGAIN_H

#include "RecomputeReading.h"

namespace divisi::plan {

/// A copy of an operator, and the operator.
struct RunAgain {
  mlir::Operation *copy = nullptr; ///< In front of what uses it.
  /// In the forward pass; null if only copies are used, which is then gone.
  mlir::Operation *original = nullptr;
};

/// Makes the copies: `again` says which values of `reading` each stage computes
/// again. `dataflow` is of the module to change, which has the operators that
/// `reading` is of.
std::vector<RunAgain> runAgain(const ModuleDataflow &dataflow,
                               const RecomputeReading &reading,
                               llvm::ArrayRef<std::vector<unsigned>> again);

/// Takes the copies away; what the plan says of the others stays.
void runOnce(std::vector<RunAgain> copies);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RUNAGAIN_H
