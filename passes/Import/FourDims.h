//===- FourDims.h - Tensors as an attention has them ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_IMPORT_FOURDIMS_H
#define DIVISI_PASSES_IMPORT_FOURDIMS_H

#include "passes/Import/WrittenAttention.h"

#include "dialects/NN/Labels.h"

#include <array>

namespace divisi {

/// Letters for each of the four dimensions of an attention's tensor.
using Groups = std::array<std::string, 4>;

/// All letters, in that order.
std::string join(const Groups &groups);

/// Of each dimension of `to` the place in `from`.
mlir::SmallVector<int64_t> permutationOf(llvm::StringRef from,
                                         llvm::StringRef to);

/// `x` in that shape; itself if it has it.
mlir::Value reshaped(mlir::OpBuilder &builder, mlir::Value x,
                     mlir::ArrayRef<int64_t> shape);

/// `x` in that order of dimensions; itself if it has it.
mlir::Value transposed(mlir::OpBuilder &builder, mlir::Value x,
                       mlir::ArrayRef<int64_t> permutation);

/// The letters by which an attention knows its tensor `i`, which has the groups
/// where they lie in `x` if they can stay there.
std::string lettersOfFour(size_t i, const Lettered &x, const Groups &groups);

/// `x` with the groups as its dimensions, where they lie if they can stay
/// there.
mlir::Value toFour(mlir::OpBuilder &builder, const Lettered &x,
                   const Groups &groups);

/// The result `y` of an attention in the dimensions of what it replaces.
mlir::Value fromFour(mlir::OpBuilder &builder, mlir::Value y,
                     const Lettered &replaced, const Groups &groups);

} // namespace divisi

#endif // DIVISI_PASSES_IMPORT_FOURDIMS_H
