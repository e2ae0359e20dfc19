//===- FieldElement.h - The prime field that tests compute in ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integers modulo the prime p = 2^61 - 1 stand for the real numbers where a
// program is to be compared with another one: sums and products are exact in
// any order, so that equal programs give equal bits, and two different
// polynomials of degree d agree at random arguments with a chance of d/p.
//
//   +, -, *, /    the field's
//   numbers       every finite double is m·2^e, and has its exact image: p is
//                 odd, and 2^61 = 1. The images of the infinities and NaN are
//                 constants that mean nothing else.
//   <, max, abs   by the representatives of least magnitude, from -(p-1)/2 to
//                 (p-1)/2: images of small integers keep their order, and
//                 min(x, y) = -max(-x, -y), but sums do not keep it
//   1/0, exp ...  what no polynomial says is uninterpreted: a hash of the
//                 function's name, its arguments and a seed. Equal arguments
//                 give equal results, and no law holds but by chance.
//
// It is no type of users' models: no file format has it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_FIELDELEMENT_H
#define DIVISI_RUNTIME_KERNELS_FIELDELEMENT_H

#include <compare>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace divisi::rt {

/// An integer modulo 2^61 - 1.
struct FieldElement {
  /// The prime.
  static constexpr uint64_t modulus = (uint64_t(1) << 61) - 1;

  uint64_t residue = 0; ///< Below the prime.

  /// Zero.
  constexpr FieldElement() = default;
  /// The integer's residue; implicit, so that x < 0 and 1 / x can be written.
  constexpr FieldElement(int value) : FieldElement(int64_t(value)) {}
  /// The same of every other integer.
  template <std::integral Integer>
  explicit constexpr FieldElement(Integer value) {
    if (std::is_signed_v<Integer> && value < Integer()) {
      *this = -fromResidue(reduce(0 - uint64_t(value)));
    } else {
      residue = reduce(uint64_t(value));
    }
  }
  /// The exact image of a number.
  FieldElement(double value);

  /// The largest: (p-1)/2.
  static constexpr FieldElement highest() {
    FieldElement element;
    element.residue = modulus / 2;
    return element;
  }
  /// The representative of least magnitude.
  explicit constexpr operator int64_t() const {
    return residue > modulus / 2 ? int64_t(residue) - int64_t(modulus)
                                 : int64_t(residue);
  }

  /// Whether they are the same.
  friend constexpr bool operator==(FieldElement, FieldElement) = default;
  /// By the representatives of least magnitude.
  friend constexpr std::strong_ordering operator<=>(FieldElement a,
                                                    FieldElement b) {
    return int64_t(a) <=> int64_t(b);
  }
  /// The negative.
  friend constexpr FieldElement operator-(FieldElement a) {
    return fromResidue(a.residue == 0 ? 0 : modulus - a.residue);
  }
  /// The sum.
  friend constexpr FieldElement operator+(FieldElement a, FieldElement b) {
    return fromResidue(reduce(a.residue + b.residue));
  }
  /// The difference.
  friend constexpr FieldElement operator-(FieldElement a, FieldElement b) {
    return a + -b;
  }
  /// The product: 2^61 = 1 folds its upper half.
  friend constexpr FieldElement operator*(FieldElement a, FieldElement b) {
    unsigned __int128 product = a.residue;
    product *= b.residue;
    return fromResidue(
        reduce(uint64_t(product & modulus) + uint64_t(product >> 61)));
  }
  /// The product with the inverse; that of 0 is uninterpreted.
  friend FieldElement operator/(FieldElement a, FieldElement b);
  /// Adds in place.
  constexpr FieldElement &operator+=(FieldElement other) {
    return *this = *this + other;
  }

private:
  /// `value` modulo the prime.
  static constexpr uint64_t reduce(uint64_t value) {
    value = (value & modulus) + (value >> 61);
    return value >= modulus ? value - modulus : value;
  }
  static constexpr FieldElement fromResidue(uint64_t residue) {
    FieldElement element;
    element.residue = residue;
    return element;
  }
};

/// base·base···, `exponent` times; of a negative one the inverse.
FieldElement power(FieldElement base, int64_t exponent);

/// The value of an uninterpreted function of one or two arguments.
FieldElement uninterpreted(std::string_view function, FieldElement a,
                           FieldElement b = 0);

/// What uninterpreted functions are drawn by, in the whole process: all that
/// is compared has to be computed under one seed, by whichever thread. Set it
/// while nothing runs.
void setFieldSeed(uint64_t seed);
/// The seed; a constant until it is set.
uint64_t fieldSeed();

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_FIELDELEMENT_H
