//===- GridTarget.cpp - What code for GPUs was made for -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridTarget.h"
#include "divisi/runtime/code/GridCode.h"

using namespace divisi::rt;

std::string divisi::rt::imageTarget(std::string_view target,
                                    std::span<const std::string> cubins) {
  std::string made = std::string(target) + ":";
  for (const std::string &cubin : cubins) {
    made += (&cubin == cubins.data() ? "" : ",") + cubin;
  }
  return made;
}

std::string_view divisi::rt::ptxOf(std::string_view target) {
  std::string_view architecture = architectureOfTarget(target);
  const char *end = architecture.data() + architecture.size();
  return architecture.empty() ? target
                              : target.substr(0, size_t(end - target.data()));
}

std::string divisi::rt::describeGridTarget(std::string_view target) {
  std::string_view architecture = architectureOfTarget(target);
  if (architecture.empty()) {
    return "for the emulator";
  }
  std::string text = "PTX for " + std::string(architecture) + " on";
  std::string_view cubins = target.substr(ptxOf(target).size());
  if (cubins.size() < 2) {
    return text + ", no cubins";
  }
  text += ", cubins for ";
  for (char letter : cubins.substr(1)) {
    text += letter;
    text += letter == ',' ? " " : "";
  }
  return text;
}
