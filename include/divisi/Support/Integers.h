//===- Integers.h - Decimal integers, parsed fast ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Half of the time that reading a problem took went into digits, one by one.
// Eight at a time is D. Lemire's "Quickly parsing eight digits" (2018): the
// digits of a chunk are summed in pairs, the pairs in pairs, and those again,
// with one multiplication each.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_INTEGERS_H
#define DIVISI_SUPPORT_INTEGERS_H

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace divisi {

/// Up to eight digits at the begin of eight characters.
struct DigitChunk {
  unsigned count; ///< 0 to 8.
  uint64_t value; ///< Of those digits; 0 if there are none.
};

/// Reads eight characters at `at`.
inline DigitChunk parseDigits(const char *at) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t chunk;
  std::memcpy(&chunk, at, sizeof(chunk));
  // Of a digit, the high bit of its byte is clear both here and plus 0x76.
  chunk ^= 0x3030303030303030u;
  uint64_t others =
      (chunk | (chunk + 0x7676767676767676u)) & 0x8080808080808080u;
  unsigned count = unsigned(std::countr_zero(others)) / 8;
  if (count == 0) {
    return {0, 0};
  }
  // Zeros in front instead of what follows.
  chunk <<= 8 * (8 - count);
  chunk = chunk * 10 + (chunk >> 8);
  chunk = ((chunk & 0x000000FF000000FFu) * 0x000F424000000064u +
           ((chunk >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >>
          32;
  return {count, chunk};
}

/// The integer of 64 bits that begins at `at`, if it is plain: digits without
/// needless zeros, and white space, a comma or a bracket behind. 25 characters
/// must be readable.
inline std::optional<int64_t> parsePlainInteger(const char *at) {
  constexpr std::array<uint64_t, 9> powers{
      1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  bool negative = *at == '-';
  at += negative;
  DigitChunk chunk = parseDigits(at);
  uint64_t value = chunk.value;
  unsigned count = chunk.count;
  if (count == 8) {
    chunk = parseDigits(at + 8);
    count += chunk.count;
    value = value * powers[chunk.count] + chunk.value;
    if (chunk.count == 8) {
      chunk = parseDigits(at + 16);
      if (chunk.count > 3) {
        return std::nullopt;
      }
      count += chunk.count;
      value = value * powers[chunk.count] + chunk.value;
    }
  }
  char end = at[count];
  bool ends = end == ',' || end == ']' || end == '}' || end == ' ' ||
              end == '\n' || end == '\r' || end == '\t';
  bool excess = count == 0 || (*at == '0' && count != 1);
  if (!ends || excess || value > uint64_t(INT64_MAX)) {
    return std::nullopt;
  }
  return negative ? -int64_t(value) : int64_t(value);
}

/// The value of a well-formed JSON number, if it is an integer of 64 bits:
/// also of 1e18 and 2.50e1.
std::optional<int64_t> parseIntegral(std::string_view number);

} // namespace divisi

#endif // DIVISI_SUPPORT_INTEGERS_H
