//===- SortNodes.h - Nodes after what they depend on ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX wants nodes in an order in which values are computed before they are
// read; some converters write them otherwise, and ONNX Runtime sorts them:
//
//   Y = Relu(h)                 h = Cast(X)
//   h = Cast(X)                 Y = Relu(h)
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_SORTNODES_H
#define DIVISI_LIB_IMPORT_SORTNODES_H

#include "onnx/onnx_pb.h"

namespace divisi {

/// Moves nodes behind those whose results they, or the graphs in their
/// attributes, read; the others stay in their order. Whether any was moved.
/// Throws a ReaderError (Invalid) where a node depends on its own results.
bool sortNodes(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_SORTNODES_H
