//===- OnnxLimits.h - Bounds on an ONNX file --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from Import.h: the reader of files knows no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_IMPORT_ONNXLIMITS_H
#define DIVISI_IMPORT_ONNXLIMITS_H

#include <cstdint>

namespace divisi {

/// Bounds on what a file may ask for, beyond ONNX's own rules.
struct OnnxLimits {
  int64_t nodes = 10'000'000;     ///< In the file.
  int depth = 64;                 ///< Of graphs inside graphs.
  int rank = 64;                  ///< Of tensors.
  int64_t expansion = 10'000'000; ///< Nodes after functions are inlined.
};

} // namespace divisi

#endif // DIVISI_IMPORT_ONNXLIMITS_H
