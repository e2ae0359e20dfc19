//===- PackedIntegers.cpp - Many small integers as base64 -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedIntegers.h"

#include <array>

namespace divisi::search {

static constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends three bytes at a time as four digits.
static void writeBase64(std::string &out, std::string_view bytes) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k != 3; ++k) {
      group = group << 8 | (k < count ? uint8_t(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k != 4; ++k) {
      out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
}

/// Strictly as it is written: no other characters, padding only at the end, and
/// no stray bits.
static std::optional<std::string> readBase64(std::string_view text) {
  constexpr auto values = [] {
    std::array<int8_t, 256> table{};
    table.fill(-1);
    for (size_t i = 0; i != kDigits.size(); ++i) {
      table[uint8_t(kDigits[i])] = int8_t(i);
    }
    return table;
  }();
  size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  for (size_t i = 0; i != text.size(); ++i) {
    bool padded = i >= text.size() - padding;
    int digit = padded ? 0 : values[uint8_t(text[i])];
    if (digit < 0) {
      return std::nullopt;
    }
    group = group << 6 | uint32_t(digit);
    if (i % 4 == 3) {
      bytes += {char(group >> 16), char(group >> 8), char(group)};
      group = 0;
    }
  }
  // The bits that padding stands for say nothing, so they must be zero.
  for (size_t k = 0; k != padding; ++k) {
    if (bytes.back() != 0) {
      return std::nullopt;
    }
    bytes.pop_back();
  }
  return bytes;
}

void packIntegers(std::string &out, std::span<const int64_t> values,
                  std::span<const int64_t> base) {
  std::string bytes;
  bytes.reserve(values.size());
  for (size_t i = 0; i != values.size(); ++i) {
    int64_t from = base.size() == values.size() ? base[i] : 0;
    int64_t difference = values[i] - from;
    uint64_t zigzag = uint64_t(difference) << 1 ^ uint64_t(difference >> 63);
    for (; zigzag >= 0x80; zigzag >>= 7) {
      bytes += char(zigzag | 0x80);
    }
    bytes += char(zigzag);
  }
  writeBase64(out, bytes);
}

/// Differences of integers within 2^62 have 63 bits and a sign: ten bytes.
static std::optional<std::vector<int64_t>>
readDifferences(std::string_view bytes, std::string &error) {
  std::vector<int64_t> differences;
  uint64_t zigzag = 0;
  int shift = 0;
  for (char byte : bytes) {
    zigzag |= uint64_t(byte & 0x7F) << shift;
    bool beyond = shift == 63 && (byte & 0x7F) > 1;
    shift += 7;
    if (beyond || (shift == 70 && (byte & 0x80))) {
      error = "integer " + std::to_string(differences.size()) +
              " has more than 64 bits of LEB128";
      return std::nullopt;
    }
    if (!(byte & 0x80)) {
      differences.push_back(int64_t(zigzag >> 1) ^ -int64_t(zigzag & 1));
      zigzag = 0;
      shift = 0;
    }
  }
  if (shift != 0) {
    error = "the last integer is cut off";
    return std::nullopt;
  }
  return differences;
}

/// Adds the base back, and refuses what is beyond the range of a potential.
std::optional<std::vector<int64_t>>
unpackIntegers(std::string_view text, std::span<const int64_t> base,
               std::string &error) {
  std::optional<std::string> bytes = readBase64(text);
  if (!bytes) {
    error = "expected base64 (A-Z, a-z, 0-9, +, /) with padding";
    return std::nullopt;
  }
  auto differences = readDifferences(*bytes, error);
  if (!differences) {
    return std::nullopt;
  }
  std::vector<int64_t> values(differences->size());
  for (size_t i = 0; i != values.size(); ++i) {
    int64_t from = base.size() == values.size() ? base[i] : 0;
    if (__builtin_add_overflow(from, (*differences)[i], &values[i]) ||
        values[i] < -kMostPacked || values[i] > kMostPacked) {
      error = "integer " + std::to_string(i) + " is beyond 2^62";
      return std::nullopt;
    }
  }
  return values;
}

} // namespace divisi::search
