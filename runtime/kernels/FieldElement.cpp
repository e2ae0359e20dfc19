//===- FieldElement.cpp - The prime field that tests compute in -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/FieldElement.h"

#include <atomic>
#include <cmath>

namespace divisi::rt {

/// Every bit of the result depends on every bit of `state` (SplitMix64).
static constexpr uint64_t mix(uint64_t state) {
  state += 0x9e3779b97f4a7c15u;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}

static std::atomic<uint64_t> &seed() {
  static std::atomic<uint64_t> value = 1;
  return value;
}

void setFieldSeed(uint64_t value) { seed() = value; }

uint64_t fieldSeed() { return seed(); }

FieldElement uninterpreted(std::string_view function, FieldElement a,
                           FieldElement b) {
  uint64_t state = mix(fieldSeed());
  for (char c : function) {
    state = mix(state ^ static_cast<unsigned char>(c));
  }
  state = mix(mix(state ^ a.residue) ^ b.residue);
  return FieldElement(state);
}

/// What no seed changes: data that was converted is good under all of them.
static FieldElement specialImage(double value) {
  return FieldElement(mix(std::isnan(value) ? 1 : value > 0 ? 2 : 3));
}

FieldElement::FieldElement(double value) {
  if (!std::isfinite(value)) {
    *this = specialImage(value);
    return;
  }
  int exponent = 0;
  // 53 bits of mantissa are an integer after so many places.
  auto mantissa = static_cast<int64_t>(std::frexp(value, &exponent) * 0x1p53);
  int places = (exponent - 53) % 61;
  *this = FieldElement(mantissa) *
          FieldElement(uint64_t(1) << (places < 0 ? places + 61 : places));
}

FieldElement power(FieldElement base, int64_t exponent) {
  if (exponent < 0) {
    base = 1 / base;
  }
  uint64_t left = exponent < 0 ? 0 - uint64_t(exponent) : uint64_t(exponent);
  FieldElement result = 1;
  for (; left != 0; left >>= 1) {
    if ((left & 1) != 0) {
      result = result * base;
    }
    base = base * base;
  }
  return result;
}

/// By Fermat, b^(p-2) is the inverse of b.
FieldElement operator/(FieldElement a, FieldElement b) {
  constexpr auto inverse = int64_t(FieldElement::modulus - 2);
  return a * (b == 0 ? uninterpreted("inverse", b) : power(b, inverse));
}

} // namespace divisi::rt
