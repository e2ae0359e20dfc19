//===- Element.h - The scalars that tensors are made of ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every DType has a C++ type of its own in memory, and one that is computed
// with:
//
//   DType       in memory      computed as
//   f64         double         double
//   f32         float          float
//   f16         Half           float
//   bf16        BFloat         float
//   i8 ...      int8_t ...     the same; sums and products wrap
//   bool        Flag           bool
//   i4, i2      Int4, Int2     int8_t
//   u4, u2      UInt4, UInt2   uint8_t
//   f8e4m3fn    Float8E4M3FN   float
//   f8e5m2 ...  Float8E5M2 ... float
//   f4e2m1      Float4E2M1     float
//   field       FieldElement   the same
//
// An element has at least a byte: two of i4 share one in files of ONNX, but not
// in memory. Nothing computes in integers of less than 8 bits, f4 and f8: they
// are moved and converted.
//
// So a function of elements is written once, on the type that is computed with:
//
//   dispatch<Numbers>(type, [&](auto zero) {
//     using T = decltype(zero);
//     out[i] = T(f(load(a[i]), load(b[i])));
//   });
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_ELEMENT_H
#define DIVISI_RUNTIME_KERNELS_ELEMENT_H

#include "divisi/runtime/kernels/FieldElement.h"
#include "divisi/runtime/kernels/Storage.h"
#include "divisi/runtime/kernels/Tensor.h"

#include <limits>

namespace divisi::rt {

//===----------------------------------------------------------------------===//
// Computed with
//===----------------------------------------------------------------------===//

/// What an element in memory is computed as: see the file's head.
template <typename T> struct ComputedAs {
  using Type = T; ///< The same.
};
/// In f32.
template <> struct ComputedAs<Half> {
  using Type = float; ///< Exact.
};
/// In f32.
template <> struct ComputedAs<BFloat> {
  using Type = float; ///< Exact.
};
/// In f32.
template <MinifloatFormat format> struct ComputedAs<Minifloat<format>> {
  using Type = float; ///< Exact.
};
/// In f32.
template <> struct ComputedAs<Float8E8M0> {
  using Type = float; ///< Exact.
};
/// In the byte that holds it.
template <typename Value, int bits>
struct ComputedAs<SmallInteger<Value, bits>> {
  using Type = Value; ///< Exact.
};
/// As the language does.
template <> struct ComputedAs<Flag> {
  using Type = bool; ///< Whether it is not 0.
};
/// Short for it.
template <typename T> using Computed = typename ComputedAs<T>::Type;

/// The element's value; exact.
template <typename T> Computed<T> load(T element) {
  return Computed<T>(element);
}

/// Whether it is a float of eight bits or fewer.
template <typename T>
constexpr bool isMinifloat = std::is_same_v<T, Float8E8M0>;
/// Those with a sign.
template <MinifloatFormat format>
constexpr bool isMinifloat<Minifloat<format>> = true;
/// Whether it is an integer of less than eight bits.
template <typename T> constexpr bool isSmallInteger = false;
/// Of that many.
template <typename Value, int bits>
constexpr bool isSmallInteger<SmallInteger<Value, bits>> = true;
/// Whether it is a float that is computed in f32 and rounded then.
template <typename T>
constexpr bool isNarrowFloat =
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat> || isMinifloat<T>;
/// Whether it is a float of any width.
template <typename T>
constexpr bool isFloat = std::is_floating_point_v<T> || isNarrowFloat<T>;
/// Whether it is an element of the prime field.
template <typename T> constexpr bool isField = std::is_same_v<T, FieldElement>;

/// The DType of T.
template <typename T> constexpr DType typeOf() {
  return std::is_same_v<T, double>           ? DType::F64
         : std::is_same_v<T, float>          ? DType::F32
         : std::is_same_v<T, Half>           ? DType::F16
         : std::is_same_v<T, BFloat>         ? DType::BF16
         : std::is_same_v<T, int8_t>         ? DType::I8
         : std::is_same_v<T, int16_t>        ? DType::I16
         : std::is_same_v<T, int32_t>        ? DType::I32
         : std::is_same_v<T, int64_t>        ? DType::I64
         : std::is_same_v<T, uint8_t>        ? DType::U8
         : std::is_same_v<T, uint16_t>       ? DType::U16
         : std::is_same_v<T, uint32_t>       ? DType::U32
         : std::is_same_v<T, uint64_t>       ? DType::U64
         : std::is_same_v<T, Int4>           ? DType::I4
         : std::is_same_v<T, UInt4>          ? DType::U4
         : std::is_same_v<T, Float8E4M3FN>   ? DType::F8E4M3FN
         : std::is_same_v<T, Float8E5M2>     ? DType::F8E5M2
         : std::is_same_v<T, Int2>           ? DType::I2
         : std::is_same_v<T, UInt2>          ? DType::U2
         : std::is_same_v<T, Float4E2M1>     ? DType::F4E2M1
         : std::is_same_v<T, Float8E4M3FNUZ> ? DType::F8E4M3FNUZ
         : std::is_same_v<T, Float8E5M2FNUZ> ? DType::F8E5M2FNUZ
         : std::is_same_v<T, Float8E8M0>     ? DType::F8E8M0
         : isField<T>                        ? DType::Field
                                             : DType::Bool;
}

/// What an operator may leave sums of many T in, so that partial ones are not
/// rounded: f32 for narrower floats, i32 for integers of up to 16 bits.
template <typename T>
using SumTypeOf = std::conditional_t<
    isNarrowFloat<T>, float,
    std::conditional_t<(std::is_integral_v<T> || isSmallInteger<T>) &&
                           sizeof(T) < 4,
                       int32_t, T>>;

//===----------------------------------------------------------------------===//
// Sets of types
//===----------------------------------------------------------------------===//

/// A set of element types: one bit for each.
constexpr unsigned typeBit(DType type) { return 1u << unsigned(type); }

/// The sets that operators speak of.
enum TypeSet : unsigned {
  Floats = typeBit(DType::F64) | typeBit(DType::F32) | typeBit(DType::F16) |
           typeBit(DType::BF16),
  /// What stands for real numbers.
  Reals = Floats | typeBit(DType::Field),
  /// What indices are.
  Indices = typeBit(DType::I32) | typeBit(DType::I64),
  Ints = typeBit(DType::I8) | typeBit(DType::I16) | Indices |
         typeBit(DType::U8) | typeBit(DType::U16) | typeBit(DType::U32) |
         typeBit(DType::U64),
  Bools = typeBit(DType::Bool),
  Numbers = Reals | Ints,
  Logical = Ints | Bools,
  /// What has an order, and is computed with.
  Comparable = Numbers | Bools,
  SmallInts = typeBit(DType::I2) | typeBit(DType::U2) | typeBit(DType::I4) |
              typeBit(DType::U4),
  /// Floats of eight bits or fewer that have a sign.
  Minifloats = typeBit(DType::F4E2M1) | typeBit(DType::F8E4M3FN) |
               typeBit(DType::F8E4M3FNUZ) | typeBit(DType::F8E5M2) |
               typeBit(DType::F8E5M2FNUZ),
  /// What is moved and converted only.
  Stored = SmallInts | Minifloats | typeBit(DType::F8E8M0),
  AllTypes = Comparable | Stored,
};

/// One step of dispatch().
template <unsigned Set, DType type, typename T, typename Body>
bool dispatchOne(DType asked, Body &body) {
  if constexpr ((Set & typeBit(type)) != 0) {
    if (asked == type) {
      body(T());
      return true;
    }
  }
  return false;
}

/// Calls `body` with a zero of the type that `type` has in memory; false if it
/// is not among `Set`.
template <unsigned Set, typename Body> bool dispatch(DType type, Body &&body) {
  return dispatchOne<Set, DType::F32, float>(type, body) ||
         dispatchOne<Set, DType::F64, double>(type, body) ||
         dispatchOne<Set, DType::F16, Half>(type, body) ||
         dispatchOne<Set, DType::BF16, BFloat>(type, body) ||
         dispatchOne<Set, DType::I8, int8_t>(type, body) ||
         dispatchOne<Set, DType::I16, int16_t>(type, body) ||
         dispatchOne<Set, DType::I32, int32_t>(type, body) ||
         dispatchOne<Set, DType::I64, int64_t>(type, body) ||
         dispatchOne<Set, DType::U8, uint8_t>(type, body) ||
         dispatchOne<Set, DType::U16, uint16_t>(type, body) ||
         dispatchOne<Set, DType::U32, uint32_t>(type, body) ||
         dispatchOne<Set, DType::U64, uint64_t>(type, body) ||
         dispatchOne<Set, DType::Bool, Flag>(type, body) ||
         dispatchOne<Set, DType::Field, FieldElement>(type, body) ||
         dispatchOne<Set, DType::I4, Int4>(type, body) ||
         dispatchOne<Set, DType::U4, UInt4>(type, body) ||
         dispatchOne<Set, DType::F8E4M3FN, Float8E4M3FN>(type, body) ||
         dispatchOne<Set, DType::F8E5M2, Float8E5M2>(type, body) ||
         dispatchOne<Set, DType::I2, Int2>(type, body) ||
         dispatchOne<Set, DType::U2, UInt2>(type, body) ||
         dispatchOne<Set, DType::F4E2M1, Float4E2M1>(type, body) ||
         dispatchOne<Set, DType::F8E4M3FNUZ, Float8E4M3FNUZ>(type, body) ||
         dispatchOne<Set, DType::F8E5M2FNUZ, Float8E5M2FNUZ>(type, body) ||
         dispatchOne<Set, DType::F8E8M0, Float8E8M0>(type, body);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// A float as the integer towards zero, saturating; 0 for NaN.
template <typename To, typename From> To saturateTo(From value) {
  // 2^digits is exact in every float; the largest integers are not.
  constexpr int digits = std::numeric_limits<To>::digits;
  constexpr From limit = From(uint64_t(1) << (digits - 1)) * 2;
  constexpr From least = From(std::numeric_limits<To>::min());
  if (value != value) {
    return 0;
  }
  if (value >= limit) {
    return std::numeric_limits<To>::max();
  }
  if (value <= least) {
    return std::numeric_limits<To>::min();
  }
  return To(value);
}

/// An integer as a double of which the last bit says whether it is inexact, so
/// that rounding it to fewer bits is as if rounded once.
template <typename From> double toDoubleOdd(From value) {
  if constexpr (sizeof(From) < 8) {
    return double(value);
  } else {
    bool isNegative = value < 0;
    uint64_t magnitude = isNegative ? 0 - uint64_t(value) : uint64_t(value);
    if (magnitude >> 53 != 0) {
      uint64_t rest = magnitude & 0x7ff;
      magnitude = (magnitude - rest) | (rest != 0 ? 0x800 : 0);
    }
    return isNegative ? -double(magnitude) : double(magnitude);
  }
}

/// An element of another type, as ONNX's Cast does it: floats are rounded to
/// nearest, halves to even, but in f8e8m0 up; those too large for f8 saturate,
/// or become infinity or NaN (`saturates`). Floats go to integers towards zero,
/// saturating, NaN to 0; wider integers wrap, as do floats in those of less
/// than 8 bits, once they are i32. Anything but 0, also NaN, is true. Numbers
/// are exact in the field; what is in the field is taken for the integer of
/// least magnitude.
template <typename To, typename From>
To convertElement(From element, bool saturates = true) {
  auto value = load(element);
  using Value = decltype(value);
  if constexpr (std::is_same_v<To, Flag>) {
    return Flag(value != 0);
  } else if constexpr (isField<Value> && !isField<To>) {
    return convertElement<To>(int64_t(value), saturates);
  } else if constexpr (isSmallInteger<To>) {
    return To(convertElement<int32_t>(value));
  } else if constexpr (isFloat<Value> && !isFloat<To> && !isField<To>) {
    return saturateTo<To>(value);
  } else if constexpr (isMinifloat<To> && !isFloat<Value>) {
    return To(toDoubleOdd(value), saturates);
  } else if constexpr (isMinifloat<To>) {
    return To(value, saturates);
  } else if constexpr (isNarrowFloat<To> && !isFloat<Value>) {
    return To(toDoubleOdd(value));
  } else {
    return To(value);
  }
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_ELEMENT_H
