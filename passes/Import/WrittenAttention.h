//===- WrittenAttention.h - Attention as exporters write it -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_IMPORT_WRITTENATTENTION_H
#define DIVISI_PASSES_IMPORT_WRITTENATTENTION_H

#include "dialects/NN/NN.h"

#include <optional>
#include <string>

namespace divisi {

/// A tensor, and a letter for each of its dimensions.
struct Lettered {
  mlir::Value value;   ///< The tensor.
  std::string letters; ///< As many as it has dimensions.
};

/// One attention as it is written out.
struct WrittenAttention {
  Lettered q, k, v, y; ///< Queries, keys, values, and the result.
  std::string scores; ///< The letters of the products; keys are last.
  mlir::SmallVector<mlir::Value> added; ///< To the products, as they broadcast.
  mlir::Value allowed; ///< Booleans that choose them, or -inf.
  double scale = 1;
  bool makesNan = true; ///< Of a row of nothing but -inf.
};

/// The attention whose last product `second` is, with its weights on that side.
std::optional<WrittenAttention> matchAttention(nn::MatmulOp second,
                                               bool isLeft);

} // namespace divisi

#endif // DIVISI_PASSES_IMPORT_WRITTENATTENTION_H
