//===- CompareTensors.h - Whether two tensors agree -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_COMPARETENSORS_H
#define DIVISI_COMPILER_COMPARETENSORS_H

#include "divisi/runtime/kernels/HostTensor.h"

#include <optional>
#include <string>

namespace divisi {

/// How far floats may lie apart: |a - b| <= absolute + relative·|b|, where b is
/// expected. NaN equals NaN, and infinities of one sign equal each other.
/// Where it is unset, the element type decides, or that in which the tensor was
/// computed if it allows more:
///
///           absolute, a share of max|b|   relative
///   f64     1e-7                          1e-6
///   f32     1e-4                          1e-3
///   f16     2e-3                          1e-2
///   bf16    1.6e-2                        5e-2
///   e4m3    3e-2                          1.25e-1 (the next number)
///   e5m2    6e-2                          2.5e-1
///   e2m1    1.2e-1                        5e-1
///   e8m0    2.5e-1                        1
///
/// Elements of other types, the prime field among them, are equal or not.
///
/// What has been quantized on the way may be beyond that: a number between two
/// codes becomes either, and others follow. Floats agree then, too, if the norm
/// of a - b is at most 0.05 of that of b.
struct Tolerance {
  /// Unset: that share of the tensor's largest finite element, so that small
  /// outputs cannot hide a wrong shard.
  std::optional<double> absolute;
  std::optional<double> relative; ///< At least 0.
  /// Instead of all that: floats have to have the same bits, but those of NaNs.
  bool isExact = false;
  /// The element type with the fewest bits that floats have been through.
  rt::DType computedIn = rt::DType::F64;
  /// Whether they have been codes; counts where nothing else is asked for.
  bool isQuantized = false;
};

/// Whether two tensors agree, and where they agree least.
struct Comparison {
  bool equal = true;  ///< Of one type and shape, and within the tolerance.
  int64_t wrong = 0;  ///< Elements beyond the tolerance.
  rt::Dims worst;     ///< The index of the largest error, if any.
  double error = 0;   ///< |a - b| there; the largest relative to `allowed`.
  double allowed = 0; ///< The tolerance there.
  /// The type whose row of the table was taken, if it is not the tensors' own.
  std::optional<rt::DType> toleranceOf;
  /// The norm of the difference as a share of what is expected, if that is why
  /// they agree.
  std::optional<double> normError;
  std::string message; ///< Empty if equal.
};

/// Compares floats with `tolerance`.
Comparison compareTensors(const rt::HostTensor &got,
                          const rt::HostTensor &expected,
                          const Tolerance &tolerance = {});

} // namespace divisi

#endif // DIVISI_COMPILER_COMPARETENSORS_H
