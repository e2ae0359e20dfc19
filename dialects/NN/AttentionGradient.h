//===- AttentionGradient.h - Attention on its way back ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nn.attention_lse and nn.attention_gradient, of which training alone knows.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_ATTENTIONGRADIENT_H
#define DIVISI_DIALECTS_NN_ATTENTIONGRADIENT_H

#include "dialects/NN/NN.h"

namespace divisi::nn {
/// On an nn.attention_gradient, a unit: where it runs, no kernel makes several
/// gradients of an attention, so what they share is made for each.
inline constexpr llvm::StringLiteral kApartAttr = "nn.apart";
} // namespace divisi::nn

#define GET_OP_CLASSES
#include "dialects/NN/NNAttentionGradient.h.inc"

#endif // DIVISI_DIALECTS_NN_ATTENTIONGRADIENT_H
