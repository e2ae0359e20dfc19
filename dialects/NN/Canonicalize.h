//===- Canonicalize.h - What canonical patterns share -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_CANONICALIZE_H
#define DIVISI_DIALECTS_NN_CANONICALIZE_H

#include "dialects/NN/NN.h"
#include "mlir/IR/PatternMatch.h"

namespace divisi::nn {

/// Whether nothing is said about where `op` runs or how its values lie.
bool isPlain(mlir::Operation *op);

/// Replaces `op` by one that does more; what was said of `op` holds for it.
template <typename OpT, typename... Args>
void replaceKeepingAttributes(mlir::PatternRewriter &rewriter, mlir::Operation *op,
                                     Args &&...args) {
  mlir::DictionaryAttr said = op->getDiscardableAttrDictionary();
  auto replacement =
      rewriter.replaceOpWithNewOp<OpT>(op, std::forward<Args>(args)...);
  replacement->setDiscardableAttrs(said);
}

/// Adds what moves transposes and repetitions into labels.
void addAbsorption(mlir::RewritePatternSet &patterns);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_CANONICALIZE_H
