//===- Fuzzer.cpp - One reader as a fuzzer --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked with libFuzzer once for each reader, which DIVISI_FUZZED names.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  divisi::fuzz::DIVISI_FUZZED(
      std::string_view(reinterpret_cast<const char *>(data), size));
  return 0;
}
