//===- RegionTail.h - What is left behind a primitive -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_REGIONTAIL_H
#define DIVISI_RUNTIME_BACKENDS_CPU_REGIONTAIL_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi::rt::cpu {

/// What is left of a region behind the primitive: it goes on with the result,
/// where that lies.
struct RegionTail {
  /// Of a region whose first `done` operators are.
  RegionTail(const CallSite &call, size_t done);
  RegionTail(const RegionTail &) = delete;

  std::vector<TensorInfo> operands; ///< Those of the call, and its result.
  std::vector<Constant> constants;  ///< One for each of these.
  Region region;                    ///< What is left of the call's.
  CallSite site;        ///< The call that is left; refers to the other members.
  const Kernel *kernel; ///< Null if none can work in place.

  /// What the kernel, which there is, says of it.
  KernelQuery query() const { return kernel->query(site); }
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_REGIONTAIL_H
