//===- ActsOn.cpp - What an option of the command line acts on ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace divisi;

// In the order of ActsOn. LLVM's parser keeps a list of them.
cl::OptionCategory &divisi::optionsOn(ActsOn step) {
  static cl::OptionCategory categories[] = {
      {"Options"},
      {"Import (of models)"},
      {"Train (of models)"},
      {"Rewrite (if the input has not been rewritten)"},
      {"Plan (if the input has none)"},
      {"Schedule (if the input has none)"},
      {"Lower (if the input is not lowered)"},
      {"Stages that run"},
      {"The artifact"},
      {"Runs"}};
  return categories[size_t(step)];
}

std::optional<ActsOn> divisi::stepOf(const cl::Option &option) {
  for (ActsOn step : allSteps()) {
    if (is_contained(option.Categories, &optionsOn(step))) {
      return step;
    }
  }
  return std::nullopt;
}
