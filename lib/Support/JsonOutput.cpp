//===- JsonOutput.cpp - Appending JSON to a string ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/JsonOutput.h"

#include <charconv>

namespace divisi {

void writeJsonString(std::string &out, std::string_view value) {
  constexpr char digits[] = "0123456789abcdef";
  out += '"';
  for (char c : value) {
    if ((unsigned char)c < 0x20) {
      out += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  out += '"';
}

void writeJsonDouble(std::string &out, double value) {
  char text[32];
  std::to_chars_result result = std::to_chars(text, text + sizeof(text), value);
  out.append(text, result.ptr);
}

} // namespace divisi
