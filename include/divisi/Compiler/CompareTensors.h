//===- CompareTensors.h - Whether two tensors agree -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_COMPARETENSORS_H
#define DIVISI_COMPILER_COMPARETENSORS_H

#include "divisi/runtime/HostTensor.h"

#include <string>

namespace divisi {

/// Whether two tensors agree, and where they do not.
struct Comparison {
  bool equal = true;       ///< Within the tolerance.
  double largestError = 0; ///< The largest |a - b|.
  std::string message;     ///< Empty if equal.
};

/// Equality of floats means |a - b| <= 1e-4·max|expected| + 1e-3·|b|, so that
/// small outputs cannot hide a wrong shard; NaN equals NaN, infinities of one
/// sign equal each other. Other types are equal bit by bit.
Comparison compareTensors(const rt::HostTensor &got,
                          const rt::HostTensor &expected);

} // namespace divisi

#endif // DIVISI_COMPILER_COMPARETENSORS_H
