//===- Verdict.cpp - The status of a rule ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Verdict.h"

using namespace divisi;
using namespace divisi::rewrite;

const char *divisi::rewrite::spell(Gate gate) {
  static constexpr const char *words[] = {"forms", "values", "floats", "proof"};
  return words[static_cast<size_t>(gate)];
}

const char *divisi::rewrite::spell(RuleStatus status) {
  static constexpr const char *words[] = {"proved", "tested", "refused"};
  return words[static_cast<size_t>(status)];
}
