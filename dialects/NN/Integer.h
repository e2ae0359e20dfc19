//===- Integer.h - Products of quantized numbers ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nn.matmul_integer and nn.conv_integer: what nn.matmul and nn.conv are, of
// integers of 8 bits with zero points. Their types and loops stand beside those
// of the others, in Contraction.cpp and Window.cpp. nn.add_dequantized is what
// is added behind them.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_INTEGER_H
#define DIVISI_DIALECTS_NN_INTEGER_H

#include "dialects/NN/NN.h"

#define GET_OP_CLASSES
#include "dialects/NN/NNInteger.h.inc"

namespace divisi::nn {

/// An error unless `zero`, an attribute called `name`, is a number of the
/// integers that `type` has.
mlir::LogicalResult checkZeroPoint(llvm::StringRef name, int64_t zero,
                                   mlir::Type type, EmitError emitError);

/// Lets what scales codes have its dims taken apart (UnflattenInterface).
void unflattenScales(mlir::MLIRContext &context);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_INTEGER_H
