//===- FiniteState.cpp - Whether a state is of numbers --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/FiniteState.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;

/// Whether all bits of `exponent` are set in an element. A loop without a way
/// out is one that compilers vectorize, so blocks of it are looked at.
template <typename Bits>
static bool hasNonfinite(std::span<const std::byte> bytes, Bits exponent) {
  constexpr size_t kBlock = 4096;
  size_t count = bytes.size() / sizeof(Bits);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    size_t end = std::min(count, begin + kBlock);
    Bits found = 0;
    for (size_t i = begin; i < end; ++i) {
      Bits bits = 0;
      std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
      found |= Bits((bits & exponent) == exponent);
    }
    if (found != 0) {
      return true;
    }
  }
  return false;
}

static bool hasNonfinite(DType type, std::span<const std::byte> bytes) {
  switch (type) {
  case DType::F64:
    return hasNonfinite<uint64_t>(bytes, 0x7ff0000000000000);
  case DType::F32:
    return hasNonfinite<uint32_t>(bytes, 0x7f800000);
  case DType::F16:
    return hasNonfinite<uint16_t>(bytes, 0x7c00);
  case DType::BF16:
    return hasNonfinite<uint16_t>(bytes, 0x7f80);
  default:
    return false;
  }
}

Status divisi::rt::checkFinite(const GlobalInfo &global,
                               std::span<const std::byte> bytes) {
  if (!hasNonfinite(global.value.type, bytes)) {
    return {};
  }
  return makeError(ExitCode::Invalid, "global '", global.value.name,
                   "' has elements that are not finite; divisi compile "
                   "--skip-nonfinite makes steps that leave it as it was where "
                   "a gradient is not finite");
}
