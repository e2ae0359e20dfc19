//===- JsonOutput.h - Appending JSON to a string ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_JSONOUTPUT_H
#define DIVISI_SUPPORT_JSONOUTPUT_H

#include <cstddef>
#include <string>
#include <string_view>

namespace divisi {

/// Appends `value` in quotes, with escapes. It must be UTF-8.
void writeJsonString(std::string &out, std::string_view value);

/// Appends the shortest decimal that reads back as `value`, which is finite.
void writeJsonDouble(std::string &out, double value);

/// Appends `[` … `]` with `element(i)` for each entry.
template <typename Element>
void writeJsonList(std::string &out, size_t count, Element element) {
  out += '[';
  for (size_t i = 0; i != count; ++i) {
    out += i ? ", " : "";
    element(i);
  }
  out += ']';
}

} // namespace divisi

#endif // DIVISI_SUPPORT_JSONOUTPUT_H
