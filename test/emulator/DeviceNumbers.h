//===- DeviceNumbers.h - Numbers in a device's memory -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What emulated libraries compute with: f64, whatever is stored; and what they
// copy.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_DEVICENUMBERS_H
#define DIVISI_TEST_EMULATOR_DEVICENUMBERS_H

#include "test/emulator/Gpu.h"

#include "divisi/runtime/kernels/Tensor.h"

#include <cuda.h>
#include <optional>
#include <string>

namespace divisi::emulator {

/// What is wrong where a library touches bytes that nobody has.
inline constexpr char noSuchBytes[] = "bytes that no device has";

/// Bytes of a float of f64, f32, f16 or bf16; these link nothing.
inline int64_t widthOf(rt::DType type) {
  return type == rt::DType::F64 ? 8 : type == rt::DType::F32 ? 4 : 2;
}
/// Such a float.
double loadNumber(const std::byte *at, rt::DType type);
void storeNumber(double value, std::byte *at, rt::DType type);

/// To 10 bits behind the point, halves away from zero.
double roundToTf32(double value);
/// GELU, by tanh or by the error function.
double geluByTanh(double x);
double geluByErf(double x);

/// Adds bytes to the last range if they lie behind it.
void touch(std::vector<ByteRange> &ranges, uint64_t begin, uint64_t bytes);
/// Lets nobody rely on what a workspace has: it is NaN. What is wrong with it.
std::optional<std::string> spoil(uint64_t address, uint64_t bytes,
                                 Touched &touched);

/// Does a copy, whose pitches are in bytes; what is wrong with it.
std::optional<std::string> copyPlanes(const CUDA_MEMCPY3D &plan,
                                      Touched &touched);

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_DEVICENUMBERS_H
