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
//   DType   in memory   computed as
//   f64     double      double
//   f32     float       float
//   f16     Half        float
//   bf16    BFloat      float
//   i8 ...  int8_t ...  the same; sums and products wrap
//   bool    Flag        bool
//
// So a function of elements is written once, on the type that is computed with:
//
//   dispatch<Numbers>(type, [&](auto zero) {
//     using T = decltype(zero);
//     out[i] = T(f(load(a[i]), load(b[i])));
//   });
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ELEMENT_H
#define DIVISI_RUNTIME_ELEMENT_H

#include "divisi/runtime/Tensor.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace divisi::rt {

//===----------------------------------------------------------------------===//
// In memory
//===----------------------------------------------------------------------===//

/// `value` as the nearest float, but an inexact one with an odd last bit: what
/// is rounded once more, to fewer bits, is then as if rounded once. (Boldo and
/// Melquiond, "When double rounding is odd", 2005.)
inline float roundToOdd(double value) {
  float near = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(near);
  bool isOdd = (bits & 1) != 0, isExact = double(near) == value;
  if (isOdd || isExact || value != value) {
    return near;
  }
  // The neighbour on the other side of `value`; infinity stays out of reach.
  bool isTooFar = std::fabs(double(near)) > std::fabs(value);
  return std::bit_cast<float>(isTooFar ? bits - 1 : bits + 1);
}

/// IEEE 754's binary16.
struct Half {
  uint16_t bits = 0; ///< As they lie in memory.

  /// Zero.
  Half() = default;
  /// The nearest one, halves to even; infinite from 65520 on.
  explicit Half(float value);
  /// The same, rounded once.
  explicit Half(double value) : Half(roundToOdd(value)) {}
  /// Exact.
  operator float() const;
};

/// The upper half of a binary32.
struct BFloat {
  uint16_t bits = 0; ///< As they lie in memory.

  /// Zero.
  BFloat() = default;
  /// The nearest one, halves to even.
  explicit BFloat(float value);
  /// The same, rounded once.
  explicit BFloat(double value) : BFloat(roundToOdd(value)) {}
  /// Exact.
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

/// A truth value in one byte; every byte but 0 is true.
struct Flag {
  uint8_t byte = 0; ///< As it lies in memory.

  /// False.
  Flag() = default;
  /// 0 or 1.
  explicit Flag(bool value) : byte(value) {}
  /// What it says.
  operator bool() const { return byte != 0; }
};

/// Without branches, so that loops become vector instructions. The float with
/// the same exponent and mantissa fields is 2^112 times too small, also where
/// it is subnormal; 31 in the exponent's field means what 255 does.
inline Half::operator float() const {
  uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

/// Adding 0.5 to a number below 2^-14 leaves multiples of 2^-24, the unit of
/// subnormal halves, in the last bits: the processor rounds. Other numbers get
/// the exponent's new bias and are rounded by the carry of what is cut off.
inline Half::Half(float value) {
  uint32_t all = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = all & 0x7fffffffu;
  uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
      std::bit_cast<uint32_t>(0.5f);
  uint32_t normal =
      (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  uint32_t half = magnitude < (113u << 23) ? small : normal;
  half = magnitude >= 0x477ff000u ? 0x7c00u : half;
  half = magnitude > 0x7f800000u ? 0x7e00u : half;
  bits = static_cast<uint16_t>(half | (all >> 16 & 0x8000u));
}

/// The carry of what is cut off rounds; a NaN stays one.
inline BFloat::BFloat(float value) {
  uint32_t all = std::bit_cast<uint32_t>(value);
  uint32_t near = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
  uint32_t quiet = all >> 16 | 0x40u;
  bits =
      static_cast<uint16_t>((all & 0x7fffffffu) > 0x7f800000u ? quiet : near);
}

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

/// Whether it is f16 or bf16, which are computed in f32.
template <typename T>
constexpr bool isNarrowFloat =
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;
/// Whether it is a float of any width.
template <typename T>
constexpr bool isFloat = std::is_floating_point_v<T> || isNarrowFloat<T>;

/// The DType of T.
template <typename T> constexpr DType typeOf() {
  return std::is_same_v<T, double>     ? DType::F64
         : std::is_same_v<T, float>    ? DType::F32
         : std::is_same_v<T, Half>     ? DType::F16
         : std::is_same_v<T, BFloat>   ? DType::BF16
         : std::is_same_v<T, int8_t>   ? DType::I8
         : std::is_same_v<T, int16_t>  ? DType::I16
         : std::is_same_v<T, int32_t>  ? DType::I32
         : std::is_same_v<T, int64_t>  ? DType::I64
         : std::is_same_v<T, uint8_t>  ? DType::U8
         : std::is_same_v<T, uint16_t> ? DType::U16
         : std::is_same_v<T, uint32_t> ? DType::U32
         : std::is_same_v<T, uint64_t> ? DType::U64
                                       : DType::Bool;
}

/// What an operator may leave sums of many T in, so that partial ones are not
/// rounded: f32 for f16 and bf16, i32 for integers of 8 and 16 bits.
template <typename T>
using SumTypeOf = std::conditional_t<
    isNarrowFloat<T>, float,
    std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, int32_t, T>>;

//===----------------------------------------------------------------------===//
// Sets of types
//===----------------------------------------------------------------------===//

/// A set of element types: one bit for each.
constexpr unsigned typeBit(DType type) { return 1u << unsigned(type); }

/// The sets that operators speak of.
enum TypeSet : unsigned {
  Floats = typeBit(DType::F64) | typeBit(DType::F32) | typeBit(DType::F16) |
           typeBit(DType::BF16),
  /// What indices are.
  Indices = typeBit(DType::I32) | typeBit(DType::I64),
  Ints = typeBit(DType::I8) | typeBit(DType::I16) | Indices |
         typeBit(DType::U8) | typeBit(DType::U16) | typeBit(DType::U32) |
         typeBit(DType::U64),
  Bools = typeBit(DType::Bool),
  Numbers = Floats | Ints,
  Logical = Ints | Bools,
  AllTypes = Numbers | Bools,
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
         dispatchOne<Set, DType::Bool, Flag>(type, body);
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
/// nearest, halves to even; floats go to integers towards zero, saturating, NaN
/// to 0; wider integers wrap; anything but 0, also NaN, is true.
template <typename To, typename From> To convertElement(From element) {
  auto value = load(element);
  using Value = decltype(value);
  if constexpr (std::is_same_v<To, Flag>) {
    return Flag(value != 0);
  } else if constexpr (isFloat<Value> && !isFloat<To>) {
    return saturateTo<To>(value);
  } else if constexpr (isNarrowFloat<To> && !isFloat<Value>) {
    return To(toDoubleOdd(value));
  } else {
    return To(value);
  }
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ELEMENT_H
