//===- Integers.cpp - Decimal integers, parsed fast -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Integers.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace divisi {

/// Exponents beyond are all the same: too large, or not an integer.
static int64_t parseExponent(std::string_view digits) {
  constexpr int64_t most = int64_t(1) << 40;
  int64_t exponent = 0;
  bool negative = digits.starts_with('-');
  digits.remove_prefix(negative || digits.starts_with('+'));
  for (char c : digits) {
    exponent = std::min(exponent * 10 + (c - '0'), most);
  }
  return negative ? -exponent : exponent;
}

std::optional<int64_t> parseIntegral(std::string_view number) {
  bool negative = number.starts_with('-');
  number.remove_prefix(negative);
  size_t mark = std::min(number.find_first_of("eE"), number.size());
  int64_t power =
      mark == number.size() ? 0 : parseExponent(number.substr(mark + 1));
  number = number.substr(0, mark);
  size_t point = std::min(number.find('.'), number.size());
  std::string digits = negative ? "-" : "";
  digits += number.substr(0, point);
  if (point != number.size()) {
    digits += number.substr(point + 1);
    power -= int64_t(number.size() - point - 1);
  }
  // -000120 is -120: from_chars takes leading zeros.
  size_t last = digits.find_last_not_of("0-");
  if (last == std::string::npos) {
    return 0;
  }
  power += int64_t(digits.size() - last - 1);
  digits.resize(last + 1);
  if (power < 0 || power > 18) {
    return std::nullopt;
  }
  digits.append(size_t(power), '0');
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

} // namespace divisi
