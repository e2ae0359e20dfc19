//===- Storage.h - What elements are in memory ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formats that the language has no type for. All of them convert from and
// to what they are computed as (Element.h), and do nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_STORAGE_H
#define DIVISI_RUNTIME_KERNELS_STORAGE_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace divisi::rt {

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

/// A float in one byte: a sign, an exponent of 7 - mantissaBits bits, and a
/// mantissa. With infinity, as OCP's E5M2, it is laid out as IEEE 754 does;
/// without, as E4M3, only the largest mantissa of the largest exponent is NaN.
template <int mantissaBits, bool hasInfinity> struct Float8 {
  uint8_t bits = 0; ///< As they lie in memory.

  /// Zero.
  Float8() = default;
  /// The nearest one, halves to even. What is too large, as is infinity,
  /// becomes the largest number, or if it does not saturate infinity (else
  /// NaN).
  explicit Float8(float value, bool saturates = true);
  /// The same, rounded once.
  explicit Float8(double value, bool saturates = true)
      : Float8(roundToOdd(value), saturates) {}
  /// Exact.
  operator float() const;

private:
  static constexpr int bias = (1 << (6 - mantissaBits)) - 1;
  static constexpr uint32_t infinity = 0x7c; ///< Of E5M2.
  static constexpr uint32_t nan = hasInfinity ? 0x7e : 0x7f;
  static constexpr uint32_t largest = hasInfinity ? infinity - 1 : nan - 1;
};
/// Four bits of exponent, three of mantissa; up to 448; no infinity.
using Float8E4M3FN = Float8<3, false>;
/// Five bits of exponent, two of mantissa; up to 57344.
using Float8E5M2 = Float8<2, true>;

/// An integer of four bits, in a byte of its own: Value is its value's type.
template <typename Value> struct Nibble {
  Value value = 0; ///< Within the four bits.

  /// Zero.
  Nibble() = default;
  /// Wraps.
  explicit Nibble(int32_t number)
      : value(std::is_signed_v<Value> ? Value(((number & 15) ^ 8) - 8)
                                      : Value(number & 15)) {}
  /// What it says.
  operator Value() const { return value; }
};
/// -8 to 7.
using Int4 = Nibble<int8_t>;
/// 0 to 15.
using UInt4 = Nibble<uint8_t>;

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

/// As halves are: what Half's constructor and conversion explain.
template <int mantissaBits, bool hasInfinity>
Float8<mantissaBits, hasInfinity>::operator float() const {
  uint32_t magnitude = bits & 0x7fu, sign = (bits & 0x80u) << 24;
  float scale = std::bit_cast<float>(uint32_t{254 - bias} << 23);
  float scaled = std::bit_cast<float>(magnitude << (23 - mantissaBits)) * scale;
  bool isSpecial = hasInfinity ? magnitude >= infinity : magnitude == nan;
  uint32_t special = magnitude == infinity ? 0x7f800000u : 0x7fc00000u;
  uint32_t value = isSpecial ? special : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(value | sign);
}

template <int mantissaBits, bool hasInfinity>
Float8<mantissaBits, hasInfinity>::Float8(float value, bool saturates) {
  constexpr int shift = 23 - mantissaBits;
  constexpr uint32_t rebias = uint32_t(127 - bias) << 23;
  // Its unit in the last place is that of the smallest elements.
  constexpr float unit =
      std::bit_cast<float>(uint32_t(151 - bias - mantissaBits) << 23);
  uint32_t all = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = all & 0x7fffffffu;
  uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + unit) -
      std::bit_cast<uint32_t>(unit);
  uint32_t normal = (magnitude - rebias + ((1u << (shift - 1)) - 1) +
                     (magnitude >> shift & 1u)) >>
                    shift;
  uint32_t code = magnitude < rebias + (1u << 23) ? small : normal;
  if (code > largest) {
    code = saturates ? largest : hasInfinity ? infinity : nan;
  }
  code = magnitude > 0x7f800000u ? nan : code;
  bits = static_cast<uint8_t>(code | (all >> 24 & 0x80u));
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_STORAGE_H
