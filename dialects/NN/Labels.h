//===- Labels.h - The labels of a contraction -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_LABELS_H
#define DIVISI_DIALECTS_NN_LABELS_H

#include "dialects/NN/NN.h"

#include <array>

namespace divisi::nn {

/// The parts of "bmk,kn->bmn": one letter for each dimension.
struct Labels {
  std::string a, b, result; ///< Of the operands and the result.

  /// Nothing unless `text` has that form. Ranks and repetitions are for
  /// MatmulOp::inferType to check.
  static std::optional<Labels> parse(llvm::StringRef text);
  /// Spelled as in `text`.
  std::string str() const;
};

/// The parts of "bshd,bthd,bthe->bshe", an attention's labels.
struct AttentionLabels {
  /// What they are sorted, and where they are not said.
  static constexpr std::array<llvm::StringLiteral, 4> sorted = {"bhsd", "bhtd",
                                                                "bhte", "bhse"};
  std::array<std::string, 4> tensors; ///< q, k, v and y.

  /// Nothing unless each tensor has its letters, and the last its place.
  static std::optional<AttentionLabels> parse(llvm::StringRef text);
  /// Spelled as in that form.
  std::string str() const;

  /// Where tensor `i` has the dimension that stands at `dim` when sorted.
  size_t find(size_t i, size_t dim) const {
    return tensors[i].find(sorted[i][dim]);
  }
  /// `shape` of tensor `i`, sorted.
  llvm::SmallVector<int64_t, 4> sort(size_t i,
                                     llvm::ArrayRef<int64_t> shape) const;
};

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_LABELS_H
