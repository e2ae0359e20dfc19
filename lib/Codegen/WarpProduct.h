//===- WarpProduct.h - Products of tiles by a warp --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_WARPPRODUCT_H
#define DIVISI_LIB_CODEGEN_WARPPRODUCT_H

#include "divisi/runtime/kernels/Tensor.h"
#include "lib/Codegen/ThreadBuilder.h"

namespace divisi {

/// What tensor cores do: the 32 threads of a warp multiply 16 rows of 16
/// elements by 16 rows of 8, in f32. Each has some of these matrices, as PTX
/// says of mma.m16n8k16. Of lane 4 g + t, with two elements of 16 bits in a
/// word, the lower half first:
///
///   a[0] rows g, columns 2 t and 2 t + 1     a[1] the same of row g + 8
///   a[2] a[3]                                8 columns on
///   b[0] rows 2 t and 2 t + 1, column g      b[1] 8 rows on
///   c[0] c[1] row g, columns 2 t, 2 t + 1    c[2] c[3] the same of row g + 8
class WarpProduct : ThreadBuilder {
public:
  /// Of the product of one instruction, in elements.
  static constexpr int64_t rows = 16, columns = 8, depth = 16;

  /// Of f16 or bf16.
  WarpProduct(mlir::ImplicitLocOpBuilder &builder, rt::DType type)
      : ThreadBuilder(builder), type_(type) {}

  /// c + a · b. All threads of the warp come here.
  llvm::SmallVector<mlir::Value> add(mlir::ValueRange a, mlir::ValueRange b,
                                     mlir::ValueRange c);
  /// Two f32 in a word, rounded.
  mlir::Value pack(mlir::Value low, mlir::Value high);

private:
  rt::DType type_;
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_WARPPRODUCT_H
