//===- Assignment.h - Texts that give a name a value ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_ASSIGNMENT_H
#define DIVISI_SUPPORT_ASSIGNMENT_H

#include <optional>
#include <string_view>
#include <utility>

namespace divisi {

/// Name and value of `NAME=VALUE`, which point into `text`. It is split at the
/// last '=', as names of ONNX's may hold one. Nothing if either is empty.
inline std::optional<std::pair<std::string_view, std::string_view>>
splitAssignment(std::string_view text) {
  size_t at = text.rfind('=');
  if (at == text.npos || at == 0 || at + 1 == text.size()) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

} // namespace divisi

#endif // DIVISI_SUPPORT_ASSIGNMENT_H
