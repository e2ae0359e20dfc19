//===- SampleTensors.h - Random tensors for rules ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_SAMPLETENSORS_H
#define DIVISI_RULES_SAMPLETENSORS_H

#include "divisi/Rules/Instance.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <optional>
#include <random>
#include <string>

namespace divisi::rewrite {

/// How elements of floats are distributed.
enum class Distribution : uint8_t {
  Integers, ///< From -9 to 9.
  Normal,   ///< From -2 to 2, with all bits.
  Scaled,   ///< The same, times one power of 2 for the tensor.
  Special,  ///< Also zeros of both signs, infinities, NaN, the largest, ...
};

/// A tensor of random elements. Those of the field, of integers and booleans
/// are any; some tensors of integers hold small ones, or indices.
Expected<rt::HostTensor> drawTensor(const TensorForm &form,
                                    Distribution distribution,
                                    std::mt19937_64 &random);

/// The first element in which two tensors of one form differ.
struct Difference {
  int64_t index = 0;             ///< In row-major order.
  double source = 0, target = 0; ///< The elements there.
};

/// How much floats may differ.
enum class Tolerance : uint8_t {
  Exact,    ///< Not at all; of NaN the bits do not count.
  Rounding, ///< As the sums of their type are rounded.
  Finite,   ///< Only where one is finite and the other is not.
};

/// Nothing if they are equal. Other types than floats are compared exactly.
/// Rounding is relative to the largest element of source, or to `magnitude` if
/// that is more.
std::optional<Difference> compare(const rt::HostTensor &source,
                                  const rt::HostTensor &target,
                                  Tolerance tolerance, double magnitude = 0);

/// The largest finite element of a tensor of floats, without sign; else 0.
double largestOf(const rt::HostTensor &tensor);

/// The elements without their signs, of a tensor of floats; others as they are.
Expected<rt::HostTensor> withoutSigns(const rt::HostTensor &tensor);

/// `[[1, 2], [3, 4]]`, or how many elements there are if they are many.
std::string print(const rt::HostTensor &tensor);
/// The element's place, `[0, 1]`.
std::string printIndex(int64_t index, const rt::Dims &dims);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_SAMPLETENSORS_H
