//===- JsonOutput.h - Appending JSON to a string ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_JSONOUTPUT_H
#define DIVISI_LIB_SEARCH_JSONOUTPUT_H

#include <cstddef>
#include <string>
#include <string_view>

namespace divisi::search {

/// Appends `value` in quotes, with escapes. It must be UTF-8.
void writeString(std::string &out, std::string_view value);

/// Appends the shortest decimal that reads back as `value`, which is finite.
void writeDouble(std::string &out, double value);

/// Appends `[` … `]` with `element(i)` for each entry.
template <typename Element>
void writeList(std::string &out, size_t count, Element element) {
  out += '[';
  for (size_t i = 0; i != count; ++i) {
    out += i ? ", " : "";
    element(i);
  }
  out += ']';
}

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_JSONOUTPUT_H
