//===- CheckedWide.h - 128-bit arithmetic that never wraps ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checker proves with integers of 128 bits. A certificate's author chooses
// the scales and so how large the numbers become; hence every operation on them
// goes through a CheckedWide, which remembers that one overflowed. Whoever
// computes a result asks once at the end and refuses it if so:
//
//   CheckedWide exact;
//   Wide product = exact.multiply(usage, exact.scale(price, bits));
//   if (exact.overflowed())
//     return "the price is too large";
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CHECK_CHECKEDWIDE_H
#define DIVISI_LIB_SEARCH_CHECK_CHECKEDWIDE_H

namespace divisi::search {

/// Arithmetic that remembers whether it overflowed: see above.
class CheckedWide {
public:
  /// What is computed with.
  using Wide = __int128;

  /// Results beyond this count as overflows too. So the plain sum or difference
  /// of two results, as inner loops want it, neither wraps nor is kInfinity.
  static constexpr Wide kLargest = Wide(1) << 125;
  /// Above every result.
  static constexpr Wide kInfinity =
      Wide(~static_cast<unsigned __int128>(0) >> 1);

  /// a + b.
  Wide add(Wide a, Wide b) {
    Wide sum;
    bool wrapped = __builtin_add_overflow(a, b, &sum);
    return remember(wrapped, sum);
  }
  /// a - b.
  Wide subtract(Wide a, Wide b) {
    Wide difference;
    bool wrapped = __builtin_sub_overflow(a, b, &difference);
    return remember(wrapped, difference);
  }
  /// a * b.
  Wide multiply(Wide a, Wide b) {
    Wide product;
    bool wrapped = __builtin_mul_overflow(a, b, &product);
    return remember(wrapped, product);
  }
  /// a * 2^bits, for bits of 0 to 120.
  Wide scale(Wide a, int bits) {
    Wide scaled = Wide(static_cast<unsigned __int128>(a) << bits);
    return remember((scaled >> bits) != a, scaled);
  }

  /// Whether any result so far is wrong.
  bool overflowed() const { return overflowed_; }

private:
  /// Zero in place of what is wrong: then all that follows is in range.
  Wide remember(bool wrapped, Wide result) {
    bool good = !wrapped && result <= kLargest && result >= -kLargest;
    overflowed_ |= !good;
    return good ? result : 0;
  }

  bool overflowed_ = false;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CHECK_CHECKEDWIDE_H
