//===- DeviceNumbers.cpp - Numbers in a device's memory -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DeviceNumbers.h"

#include "divisi/runtime/kernels/Storage.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

using namespace divisi;
using namespace divisi::emulator;

double divisi::emulator::loadNumber(const std::byte *at, rt::DType type) {
  auto as = [&](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  rt::BFloat upper;
  rt::Half half;
  switch (type) {
  case rt::DType::F64:
    return as(double());
  case rt::DType::F32:
    return as(float());
  case rt::DType::BF16:
    upper.bits = as(uint16_t());
    return float(upper);
  default:
    half.bits = as(uint16_t());
    return float(half);
  }
}

void divisi::emulator::storeNumber(double value, std::byte *at,
                                   rt::DType type) {
  auto put = [&](auto rounded) { std::memcpy(at, &rounded, sizeof(rounded)); };
  switch (type) {
  case rt::DType::F64:
    return put(value);
  case rt::DType::F32:
    return put(float(value));
  case rt::DType::BF16:
    return put(rt::BFloat(value).bits);
  default:
    return put(rt::Half(value).bits);
  }
}

double divisi::emulator::roundToTf32(double value) {
  auto bits = std::bit_cast<uint32_t>(float(value));
  bool isFinite = (bits & 0x7f800000) != 0x7f800000;
  return std::bit_cast<float>(isFinite ? (bits + 0x1000) & ~0x1fffU : bits);
}

double divisi::emulator::geluByTanh(double x) {
  double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

double divisi::emulator::geluByErf(double x) {
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

void divisi::emulator::touch(std::vector<ByteRange> &ranges, uint64_t begin,
                             uint64_t bytes) {
  if (ranges.empty() || ranges.back().end != begin) {
    ranges.push_back({begin, begin});
  }
  ranges.back().end += bytes;
}

std::optional<std::string>
divisi::emulator::spoil(uint64_t address, uint64_t bytes, Touched &touched) {
  std::byte *data = gpus().find(address, bytes);
  if (bytes != 0 && !data) {
    return "a workspace that no device has";
  }
  if (bytes != 0) {
    std::memset(data, 0xff, bytes);
    touched.writes.push_back({address, address + bytes});
  }
  return std::nullopt;
}

/// Where the bytes are, of a device or of the host; null if a device has none.
static std::byte *bytesAt(uint64_t address, uint64_t bytes) {
  return gpus().isOfDevice(address) ? gpus().find(address, bytes)
                                    : reinterpret_cast<std::byte *>(address);
}

std::optional<std::string>
divisi::emulator::copyPlanes(const CUDA_MEMCPY3D &plan, Touched &touched) {
  for (size_t i = 0; i < plan.Depth * plan.Height; ++i) {
    size_t plane = i / plan.Height, row = i % plan.Height;
    uint64_t from =
        plan.srcDevice + (plane * plan.srcHeight + row) * plan.srcPitch;
    uint64_t to =
        plan.dstDevice + (plane * plan.dstHeight + row) * plan.dstPitch;
    std::byte *source = bytesAt(from, plan.WidthInBytes);
    std::byte *target = bytesAt(to, plan.WidthInBytes);
    if (!source || !target) {
      return noSuchBytes;
    }
    std::memmove(target, source, plan.WidthInBytes);
    touched.reads.push_back({from, from + plan.WidthInBytes});
    touched.writes.push_back({to, to + plan.WidthInBytes});
  }
  return std::nullopt;
}
