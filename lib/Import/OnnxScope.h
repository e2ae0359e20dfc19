//===- OnnxScope.h - The module that a node comes from ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_ONNXSCOPE_H
#define DIVISI_LIB_IMPORT_ONNXSCOPE_H

#include "onnx/onnx_pb.h"

#include <string>

namespace divisi {

/// The module of the exported program that `node` was written in, as
/// `m.h.0.attn`: what torch notes in the metadata, else what stands before the
/// last '/' of the node's name. Empty if neither says it.
std::string scopeOf(const onnx::NodeProto &node);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_ONNXSCOPE_H
