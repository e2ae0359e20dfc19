//===- CheckedMath.h - Arithmetic that says when it overflows ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element counts and byte sizes come from untrusted files. A wrapped product is
// a small buffer for a large tensor, so every such count is computed by these
// functions, and the caller has to check the result:
//
//   std::optional<int64_t> elements = checkedProduct(shape);
//   if (!elements)
//     return emitError() << "the shape has more elements than int64 holds";
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_CHECKEDMATH_H
#define DIVISI_SUPPORT_CHECKEDMATH_H

#include <cstdint>
#include <optional>
#include <span>

namespace divisi {

/// Returns `a + b`, or nothing if int64_t cannot hold it.
[[nodiscard]] inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    return std::nullopt;
  }
  return sum;
}

/// Returns `a * b`, or nothing if int64_t cannot hold it.
[[nodiscard]] inline std::optional<int64_t> checkedMul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::nullopt;
  }
  return product;
}

/// Returns the product of all factors (1 if there are none), or nothing if
/// int64_t cannot hold it. A factor of 0 makes the product 0 wherever it
/// stands: `[2^62, 4, 0]` is an empty tensor, not an overflow.
[[nodiscard]] inline std::optional<int64_t>
checkedProduct(std::span<const int64_t> factors) {
  bool overflowed = false;
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (factor == 0) {
      return 0;
    }
    overflowed |= __builtin_mul_overflow(product, factor, &product);
  }
  if (overflowed) {
    return std::nullopt;
  }
  return product;
}

/// Returns the bytes of a dense tensor whose elements have `elementBits` bits,
/// or nothing if a dimension is negative or int64_t cannot hold them. Elements
/// narrower than a byte share bytes: `[3]` of 4 bits has two.
[[nodiscard]] inline std::optional<int64_t>
checkedBytes(std::span<const int64_t> dims, int64_t elementBits) {
  for (int64_t dim : dims) {
    if (dim < 0) {
      return std::nullopt;
    }
  }
  std::optional<int64_t> count = checkedProduct(dims);
  if (!count) {
    return std::nullopt;
  }
  // Eight elements fill whole bytes, of any width.
  std::optional<int64_t> eights = checkedMul(*count / 8, elementBits);
  return eights ? checkedAdd(*eights, (*count % 8 * elementBits + 7) / 8)
                : std::nullopt;
}

} // namespace divisi

#endif // DIVISI_SUPPORT_CHECKEDMATH_H
