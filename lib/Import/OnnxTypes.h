//===- OnnxTypes.h - ONNX's numbers of element types ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_ONNXTYPES_H
#define DIVISI_LIB_IMPORT_ONNXTYPES_H

#include "divisi/runtime/kernels/Tensor.h"

#include <optional>
#include <string>

namespace divisi {

/// Our name for ONNX's element type; unset for one that Divisi does not have.
std::optional<rt::DType> convertType(int onnxType);
/// The reverse.
int onnxType(rt::DType type);
/// The element types that Divisi has, in words.
std::string knownTypes();
/// ONNX's own name of an element type, `number N` where it has none.
std::string onnxTypeName(int onnxType);

/// Whether it is a float of 8 bits, for which ONNX has 'saturate'.
bool isFloat8(rt::DType type);
/// The float type in which an operator computes elements of `type`: itself, or
/// for integers one that holds them all (those of 64 bits nearly).
rt::DType exactFloat(rt::DType type);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_ONNXTYPES_H
