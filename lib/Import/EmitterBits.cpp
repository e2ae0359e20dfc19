//===- EmitterBits.cpp - Codes that several share a byte ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

using namespace divisi;
using rt::DType;

/// The codes in `packed`, the first in the low bits of each byte.
static std::vector<std::byte> codesIn(std::span<const std::byte> packed,
                                      int64_t bits) {
  std::vector<std::byte> codes;
  codes.reserve(packed.size() * static_cast<size_t>(8 / bits));
  unsigned mask = (1U << bits) - 1;
  for (std::byte one : packed) {
    for (int64_t shift = 0; shift < 8; shift += bits) {
      codes.push_back(
          std::byte((std::to_integer<unsigned>(one) >> shift) & mask));
    }
  }
  return codes;
}

/// Weights become others, in the blob: their bytes are not copied before.
Tensor Emitter::unpackStored(const Tensor &packed, int64_t bits) {
  Tensor &result = unpacked_[{packed->stored, bits}];
  auto bytes =
      result
          ? Expected<std::span<const std::byte>>(std::span<const std::byte>())
          : store_.bytes(packed->stored->data);
  if (!bytes) {
    fail(bytes.status().code(), bytes.status().message());
    return packed;
  }
  if (!result) {
    std::vector<std::byte> codes = codesIn(*bytes, bits);
    auto stored = std::make_unique<OnnxTensor>();
    stored->name = packed->stored->name;
    stored->type = bits == 4 ? DType::U4 : DType::U8;
    stored->dims = packed->dims;
    stored->dims.back() *= 8 / bits;
    stored->data = store_.addBlob(codes);
    result = initializer(*stored);
    made_.push_back(std::move(stored));
  }
  return result;
}

Tensor Emitter::unpackBits(const Tensor &packed, int64_t bits) {
  if (bits == 8 || !status_.isOk() || packed->dims.empty()) {
    return packed;
  }
  if (packed->stored && !packed->known && !isAbsent(packed)) {
    return unpackStored(packed, bits);
  }
  rt::Dims apart = packed->dims, dims = packed->dims;
  apart.push_back(1);
  dims.back() *= 8 / bits;
  std::vector<double> shifts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    shifts.push_back(static_cast<double>(shift));
  }
  Tensor by = numbers(DType::U8, {8 / bits}, shifts);
  Tensor codes =
      binary("shift", reshape(packed, apart), by, {{"left", int64_t{0}}});
  codes = binary("and", codes, scalar(DType::U8, double((1 << bits) - 1)));
  return reshape(codes, dims);
}
