//===- DrawnConv.h - Convolutions to be tried -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_DRAWNCONV_H
#define DIVISI_TEST_EMULATOR_DRAWNCONV_H

#include "test/emulator/CudaCalls.h"

namespace divisi::test {

/// A convolution, or a gradient of one, of up to three dimensions, on boxes
/// that may have more than is wanted.
GpuCall drawConv(Random &random, bool isGradient);

/// Values for its operands.
std::vector<Bytes> drawOperands(const GpuCall &call, Random &random);

/// A convolution of whole tensors.
GpuCall makeConv(rt::DType type, rt::Dims x, rt::Dims w, rt::Dims y,
                 rt::Dims stride, rt::Dims low, rt::Dims high, int64_t groups);

} // namespace divisi::test

#endif // DIVISI_TEST_EMULATOR_DRAWNCONV_H
