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

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_LABELS_H
