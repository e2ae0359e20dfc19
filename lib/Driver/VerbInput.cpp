//===- VerbInput.cpp - What a verb got ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerbInput.h"

#include "CommandLine.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace divisi;

Status VerbInput::check(cl::SubCommand &verb, bool replan) const {
  std::vector<GivenOption> given;
  for (auto [name, option] : verb.OptionsMap) {
    std::optional<ActsOn> step = stepOf(*option);
    if (step && option->getNumOccurrences() && !is_contained(also_, option)) {
      given.push_back({spell(*option), *step});
    }
  }
  return GivenInput::check(given, replan);
}
