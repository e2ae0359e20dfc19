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

/// How a float of eight bits or fewer is laid out: a sign, an exponent, and a
/// mantissa in the lowest bits. Codes are those of positive numbers. One with
/// infinity is laid out as IEEE 754 does.
struct MinifloatFormat {
  int width;        ///< All of its bits.
  int mantissaBits; ///< Those of the mantissa.
  int bias;         ///< The exponent of 1.
  int infinity;     ///< Its code; -1: none.
  int nan;          ///< A code of NaN; -1: none. Negative zero's: "FNUZ".
  int largest;      ///< The code of the largest number.

  /// The bit that negates.
  constexpr int signBit() const { return 1 << (width - 1); }
  /// Whether zero has no sign, and NaN the code that -0 would have.
  constexpr bool isUnsignedZero() const { return nan == signBit(); }
  /// What is too large and does not saturate becomes.
  constexpr int beyond() const {
    return infinity >= 0 ? infinity : nan >= 0 ? nan : largest;
  }
  /// As it is.
  bool operator==(const MinifloatFormat &) const = default;
};

/// A float in a byte, in the lowest bits if it has fewer.
template <MinifloatFormat format> struct Minifloat {
  uint8_t bits = 0; ///< As they lie in memory.

  /// How they are laid out.
  static constexpr MinifloatFormat layout = format;

  /// Zero.
  Minifloat() = default;
  /// The nearest one, halves to even. What is too large, as is infinity,
  /// becomes the largest number, or if it does not saturate infinity, or else
  /// NaN. NaN is 0 in a format that has none.
  explicit Minifloat(float value, bool saturates = true);
  /// The same, rounded once.
  explicit Minifloat(double value, bool saturates = true)
      : Minifloat(roundToOdd(value), saturates) {}
  /// Exact.
  operator float() const;
};
/// Four bits of exponent, three of mantissa; up to 448; no infinity.
using Float8E4M3FN = Minifloat<MinifloatFormat{8, 3, 7, -1, 0x7f, 0x7e}>;
/// The same up to 240, with one zero and one NaN.
using Float8E4M3FNUZ = Minifloat<MinifloatFormat{8, 3, 8, -1, 0x80, 0x7f}>;
/// Five bits of exponent, two of mantissa; up to 57344.
using Float8E5M2 = Minifloat<MinifloatFormat{8, 2, 15, 0x7c, 0x7e, 0x7b}>;
/// The same without infinity, with one zero and one NaN.
using Float8E5M2FNUZ = Minifloat<MinifloatFormat{8, 2, 16, -1, 0x80, 0x7f}>;
/// Two bits of exponent, one of mantissa; up to 6; no infinity and no NaN.
using Float4E2M1 = Minifloat<MinifloatFormat{4, 1, 1, -1, -1, 7}>;

/// A power of 2 in a byte, 2^-127 to 2^127: an exponent, without sign and zero.
struct Float8E8M0 {
  uint8_t bits = 0; ///< As they lie in memory.

  static constexpr uint32_t nan = 0xff;     ///< Its code.
  static constexpr uint32_t largest = 0xfe; ///< That of the largest number.

  /// 2^-127.
  Float8E8M0() = default;
  /// The next one from `value` up. What is too large becomes the largest
  /// number, and what is too small, as is 0, the smallest; NaN if it does not
  /// saturate. What is negative is NaN.
  explicit Float8E8M0(float value, bool saturates = true);
  /// The same, rounded once.
  explicit Float8E8M0(double value, bool saturates = true)
      : Float8E8M0(roundToOdd(value), saturates) {}
  /// Exact.
  operator float() const;
};

/// An integer of a few bits, in a byte of its own: Value is its value's type.
template <typename Value, int bits> struct SmallInteger {
  Value value = 0; ///< Within the bits.

  static constexpr int width = bits; ///< How many there are.
  /// The least value.
  static constexpr int least = std::is_signed_v<Value> ? -(1 << (bits - 1)) : 0;
  static constexpr int most = least + (1 << bits) - 1; ///< The largest one.

  /// Zero.
  SmallInteger() = default;
  /// Wraps.
  explicit SmallInteger(int32_t number)
      : value(Value(((number & ((1 << bits) - 1)) ^ -least) + least)) {}
  /// What it says.
  operator Value() const { return value; }
};
/// -8 to 7.
using Int4 = SmallInteger<int8_t, 4>;
/// 0 to 15.
using UInt4 = SmallInteger<uint8_t, 4>;
/// -2 to 1.
using Int2 = SmallInteger<int8_t, 2>;
/// 0 to 3.
using UInt2 = SmallInteger<uint8_t, 2>;

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
template <MinifloatFormat format> Minifloat<format>::operator float() const {
  uint32_t magnitude = bits & uint32_t(format.signBit() - 1);
  uint32_t sign = (bits & uint32_t(format.signBit())) << (32 - format.width);
  float scale = std::bit_cast<float>(uint32_t(254 - format.bias) << 23);
  float scaled =
      std::bit_cast<float>(magnitude << (23 - format.mantissaBits)) * scale;
  bool isSpecial = format.infinity >= 0      ? int(magnitude) >= format.infinity
                   : format.isUnsignedZero() ? bits == format.nan
                                             : int(magnitude) == format.nan;
  uint32_t special =
      int(magnitude) == format.infinity ? 0x7f800000u : 0x7fc00000u;
  uint32_t value = isSpecial ? special : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(value | sign);
}

template <MinifloatFormat format>
Minifloat<format>::Minifloat(float value, bool saturates) {
  constexpr int shift = 23 - format.mantissaBits;
  constexpr uint32_t rebias = uint32_t(127 - format.bias) << 23;
  // Its unit in the last place is that of the smallest elements.
  constexpr float unit = std::bit_cast<float>(
      uint32_t(151 - format.bias - format.mantissaBits) << 23);
  uint32_t all = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = all & 0x7fffffffu;
  uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + unit) -
      std::bit_cast<uint32_t>(unit);
  uint32_t normal = (magnitude - rebias + ((1u << (shift - 1)) - 1) +
                     (magnitude >> shift & 1u)) >>
                    shift;
  uint32_t code = magnitude < rebias + (1u << 23) ? small : normal;
  if (code > uint32_t(format.largest)) {
    code = uint32_t(saturates ? format.largest : format.beyond());
  }
  if (magnitude > 0x7f800000u) {
    code = uint32_t(format.nan >= 0 ? format.nan : 0);
  }
  uint32_t sign = all >> (32 - format.width) & uint32_t(format.signBit());
  bool hasSign = code != 0 || !format.isUnsignedZero();
  bits = static_cast<uint8_t>(hasSign ? code | sign : code);
}

/// The smallest one is a subnormal float, and NaN's exponent is the float's.
inline Float8E8M0::operator float() const {
  uint32_t number = bits == 0 ? 0x00400000u : uint32_t{bits} << 23;
  return std::bit_cast<float>(bits == nan ? 0x7fc00000u : number);
}

/// The exponent, and one more where there is a mantissa; but 2^-127, as all
/// below it, has code 0.
inline Float8E8M0::Float8E8M0(float value, bool saturates) {
  uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  uint32_t code = (magnitude + 0x7fffffu) >> 23;
  code = magnitude <= 0x00400000u ? 0 : code;
  bool isIn = magnitude >= 0x00400000u && code <= largest;
  code = code > largest ? largest : code;
  bool isNumber = value >= 0;
  bits = static_cast<uint8_t>(isNumber && (saturates || isIn) ? code : nan);
}

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_STORAGE_H
