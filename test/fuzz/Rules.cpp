//===- Rules.cpp - Any bytes as rules -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "divisi/Rules/RuleText.h"

using namespace divisi;
using namespace divisi::rewrite;

void fuzz::readRules(std::string_view bytes) {
  auto rules = parseRules(bytes, "fuzz.rules");
  if (!rules) {
    return fuzz::requireFailure(rules.status());
  }
  std::string text = printRules(*rules);
  auto again = parseRules(text, "again.rules");
  fuzz::require(bool(again), "what is printed is read");
  fuzz::require(printRules(*again) == text, "and is printed as it was");
}
