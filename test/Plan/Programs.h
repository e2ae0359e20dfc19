//===- Programs.h - Programs to plan ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_PLAN_PROGRAMS_H
#define DIVISI_TEST_PLAN_PROGRAMS_H

#include "llvm/ADT/StringRef.h"

namespace divisi {

/// Two matrix products with a ReLU between them, and a residual.
inline constexpr llvm::StringLiteral kMlp = R"mlir(
  nn.global @a parameter : tensor<256x1024xf32>
  nn.global @b parameter : tensor<1024x256xf32>
  func.func @forward(%x: tensor<512x256xf32>) -> tensor<512x256xf32> {
    %a = nn.read @a : tensor<256x1024xf32>
    %b = nn.read @b : tensor<1024x256xf32>
    %0 = nn.matmul %x, %a {labels = "mk,kn->mn"}
      : (tensor<512x256xf32>, tensor<256x1024xf32>) -> tensor<512x1024xf32>
    %1 = nn.relu %0 : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
    %2 = nn.matmul %1, %b {labels = "mk,kn->mn"}
      : (tensor<512x1024xf32>, tensor<1024x256xf32>) -> tensor<512x256xf32>
    %3 = nn.add %2, %x
      : (tensor<512x256xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
    return %3 : tensor<512x256xf32>
  }
)mlir";

} // namespace divisi

#endif // DIVISI_TEST_PLAN_PROGRAMS_H
