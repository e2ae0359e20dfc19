//===- Magnitude.h - How large the elements of operands are -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_MAGNITUDE_H
#define DIVISI_RUNTIME_BACKENDS_CPU_MAGNITUDE_H

#include "divisi/runtime/kernels/Kernel.h"

#include <optional>

namespace divisi::rt::cpu {

/// The largest |x| of `count` elements; infinite if one of them is infinite or
/// NaN, 0 if there are none.
double largestMagnitude(const float *x, int64_t count, int threads);

/// Of one operand of a call, in f32.
class Magnitude {
public:
  Magnitude() = default;
  /// Measured now if the call knows the operand.
  Magnitude(const CallSite &call, size_t operand);

  /// Measured now, if it is not known.
  double of(const LaunchContext &context) const;
  /// How many elements of() reads.
  static int64_t cost(const CallSite &call, size_t operand);

private:
  size_t operand_ = 0;
  int64_t count_ = 0;
  std::optional<double> known_;
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_MAGNITUDE_H
