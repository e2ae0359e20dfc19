//===- JsonOutput.cpp - Appending JSON to a string ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/JsonOutput.h"

#include "divisi/Support/VisibleText.h"

#include <algorithm>
#include <charconv>

namespace divisi {

void writeJsonString(std::string &out, std::string_view value) {
  out += '"';
  while (!value.empty()) {
    size_t end = std::min(value.find_first_of("\"\\\n"), value.size());
    appendVisible(out, value.substr(0, end), Escape::Json);
    if (end == value.size()) {
      break;
    }
    out += value[end] == '\n' ? std::string("\\u000a")
                              : std::string{'\\', value[end]};
    value.remove_prefix(end + 1);
  }
  out += '"';
}

void writeJsonDouble(std::string &out, double value) {
  char text[32];
  std::to_chars_result result = std::to_chars(text, text + sizeof(text), value);
  out.append(text, result.ptr);
}

} // namespace divisi
