//===- FirstOperator.h - The operator that a call begins with ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_FIRSTOPERATOR_H
#define DIVISI_RUNTIME_BACKENDS_CPU_FIRSTOPERATOR_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt::cpu {

/// The operator of a call, or the first of its region. It refers to the call's
/// attributes and region.
struct FirstOperator {
  /// Of `call`, which must outlive it.
  explicit FirstOperator(const CallSite &call);

  const RegionPart *part;       ///< Of the region; null of a call without one.
  std::string_view op;          ///< "nn.conv"
  const Attributes &attributes; ///< Its own.
  std::vector<int> operands;    ///< Their numbers among the call's.
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_FIRSTOPERATOR_H
