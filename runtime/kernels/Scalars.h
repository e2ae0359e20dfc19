//===- Scalars.h - Element types in templates -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are templates over the element: float, int32_t, int64_t, and uint8_t
// for bool. Integer arithmetic wraps.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_SCALARS_H
#define DIVISI_RUNTIME_KERNELS_SCALARS_H

#include "runtime/kernels/Checks.h"

#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

namespace divisi::rt {

/// Sets of element types.
enum TypeSet : unsigned {
  Floats = 1,
  Int32 = 2,
  Int64 = 4,
  Bools = 8,
  Ints = Int32 | Int64,
  Numbers = Floats | Ints,
  Logical = Ints | Bools,
  AllTypes = Numbers | Bools,
};

/// Calls `body(T())` with the C++ type of `type` if it is in `Set`.
template <unsigned Set, typename Body> bool dispatch(DType type, Body &&body) {
  if constexpr (Set & Floats) {
    if (type == DType::F32) {
      body(float());
      return true;
    }
  }
  if constexpr (Set & Int32) {
    if (type == DType::I32) {
      body(int32_t());
      return true;
    }
  }
  if constexpr (Set & Int64) {
    if (type == DType::I64) {
      body(int64_t());
      return true;
    }
  }
  if constexpr (Set & Bools) {
    if (type == DType::Bool) {
      body(uint8_t());
      return true;
    }
  }
  return false;
}

/// The message when `dispatch` finds nothing.
inline std::unique_ptr<PreparedKernel> noKernelFor(const Checks &checks,
                                                   DType type) {
  checks.fail("has no kernel for " + std::string(stringify(type)));
  return nullptr;
}

template <typename T> constexpr bool isFloat = std::is_floating_point_v<T>;

/// What sums and products of T are accumulated in, where the accumulator is not
/// the result itself: f64 for f32; integers wrap in their own width.
template <typename T>
using Accumulator = std::conditional_t<isFloat<T>, double, T>;

template <typename T> T wrapAdd(T a, T b) {
  if constexpr (isFloat<T>) {
    return a + b;
  } else {
    using U = std::make_unsigned_t<T>;
    return T(U(a) + U(b));
  }
}

template <typename T> T wrapSub(T a, T b) {
  if constexpr (isFloat<T>) {
    return a - b;
  } else {
    using U = std::make_unsigned_t<T>;
    return T(U(a) - U(b));
  }
}

template <typename T> T wrapMul(T a, T b) {
  if constexpr (isFloat<T>) {
    return a * b;
  } else {
    using U = std::make_unsigned_t<T>;
    return T(U(a) * U(b));
  }
}

/// The larger or smaller; NaN if one of them is.
template <typename T> T maxOf(T a, T b) {
  if constexpr (isFloat<T>) {
    return a > b || a != a ? a : b;
  } else {
    return a > b ? a : b;
  }
}

template <typename T> T minOf(T a, T b) {
  if constexpr (isFloat<T>) {
    return a < b || a != a ? a : b;
  } else {
    return a < b ? a : b;
  }
}

/// The neutral values of max and min.
template <typename T> constexpr T lowestOf() {
  if constexpr (isFloat<T>) {
    return -std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::min();
  }
}

template <typename T> constexpr T highestOf() {
  if constexpr (isFloat<T>) {
    return std::numeric_limits<T>::infinity();
  } else {
    return std::numeric_limits<T>::max();
  }
}

/// Float to integer: towards zero, saturating, NaN becomes 0.
template <typename To, typename From> To saturateTo(From value) {
  // 2^31 and 2^63 are exact in every float; the largest integers are not.
  const From limit = -From(std::numeric_limits<To>::min());
  if (value != value) {
    return 0;
  }
  if (value >= limit) {
    return std::numeric_limits<To>::max();
  }
  if (value < -limit) {
    return std::numeric_limits<To>::min();
  }
  return To(value);
}

/// A kernel that is a function of its pointers, or of all its context.
template <typename Body> class FunctionKernel final : public PreparedKernel {
public:
  explicit FunctionKernel(Body body) : body_(std::move(body)) {}
  Status launch(LaunchContext &context) override {
    if constexpr (std::is_invocable_v<Body &, LaunchContext &>) {
      body_(context);
    } else {
      body_(context.operands, context.results, context.workspace);
    }
    return {};
  }

private:
  Body body_;
};

/// Wraps `body(operands, results, workspace)` or `body(context)`.
template <typename Body> std::unique_ptr<PreparedKernel> makeKernel(Body body) {
  return std::make_unique<FunctionKernel<Body>>(std::move(body));
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_SCALARS_H
