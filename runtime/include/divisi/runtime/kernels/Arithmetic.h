//===- Arithmetic.h - Sums, products and extremes of scalars ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar operations of kernels and collectives, on the types used for computing
// (Element.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_ARITHMETIC_H
#define DIVISI_RUNTIME_KERNELS_ARITHMETIC_H

#include "divisi/runtime/kernels/Element.h"

namespace divisi::rt {

/// The unsigned integer in which T wraps; at least as wide as int, to which
/// narrower ones would be promoted.
template <typename T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

/// a + b; integers wrap.
template <typename T> T wrapAdd(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    return a + b;
  } else {
    return T(Wrapping<T>(a) + Wrapping<T>(b));
  }
}

/// a - b; integers wrap.
template <typename T> T wrapSub(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    return a - b;
  } else {
    return T(Wrapping<T>(a) - Wrapping<T>(b));
  }
}

/// a * b; integers wrap.
template <typename T> T wrapMul(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    return a * b;
  } else {
    return T(Wrapping<T>(a) * Wrapping<T>(b));
  }
}

/// The larger; NaN if one of them is.
template <typename T> T maxOf(T a, T b) {
  if constexpr (isFloat<T>) {
    return a > b || a != a ? a : b;
  } else {
    return a > b ? a : b;
  }
}

/// The smaller; NaN if one of them is.
template <typename T> T minOf(T a, T b) {
  if constexpr (isFloat<T>) {
    return a < b || a != a ? a : b;
  } else {
    return a < b ? a : b;
  }
}

/// The neutral value of maxOf.
template <typename T> constexpr T lowestOf() {
  if constexpr (isFloat<T>) {
    return -std::numeric_limits<T>::infinity();
  } else if constexpr (isField<T>) {
    return -T::highest();
  } else {
    return std::numeric_limits<T>::min();
  }
}

/// The neutral value of minOf.
template <typename T> constexpr T highestOf() {
  if constexpr (isFloat<T>) {
    return std::numeric_limits<T>::infinity();
  } else if constexpr (isField<T>) {
    return T::highest();
  } else {
    return std::numeric_limits<T>::max();
  }
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_ARITHMETIC_H
