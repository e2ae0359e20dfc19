//===- RowCode.cpp - For which processors regions are compiled ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/RowCode.h"

using namespace divisi;
using namespace divisi::rt;

/// What targets begin with: the code's triple, and how it is called.
static constexpr std::string_view targetPrefix = "x86_64-linux-rows1:";

std::string divisi::rt::nativeTarget(std::string_view level) {
  return std::string(targetPrefix) + std::string(level);
}

std::string_view divisi::rt::levelOfTarget(std::string_view target) {
  return target.starts_with(targetPrefix) ? target.substr(targetPrefix.size())
                                          : std::string_view();
}

static bool hasLevel(std::string_view level) {
#if defined(__x86_64__) && defined(__linux__)
  return level == "x86-64-v4"   ? __builtin_cpu_supports("x86-64-v4") != 0
         : level == "x86-64-v3" ? __builtin_cpu_supports("x86-64-v3") != 0
                                : false;
#else
  return false;
#endif
}

bool divisi::rt::runsOnHost(std::string_view target) {
  return hasLevel(levelOfTarget(target));
}

std::string_view divisi::rt::hostLevel() {
  for (std::string_view level : {"x86-64-v4", "x86-64-v3"}) {
    if (hasLevel(level)) {
      return level;
    }
  }
  return {};
}
