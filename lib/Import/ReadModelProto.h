//===- ReadModelProto.h - A model as protobuf has it ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_READMODELPROTO_H
#define DIVISI_LIB_IMPORT_READMODELPROTO_H

#include "divisi/Import/DeviceAnnotations.h"
#include "divisi/Support/Status.h"

#include "onnx/onnx_pb.h"

#include <string>

namespace divisi {

/// Reads the model at `path` whole, with its weights, for who writes it again.
/// Fails with File, or with Invalid for what is no model.
Status readModelProto(const std::string &path, onnx::ModelProto &proto);

/// Nodes, inputs, outputs and initializers of a model, with the shapes that it
/// states.
ModelOutline outlineOf(const onnx::ModelProto &proto);

/// The annotations of a model that names device configurations, or whose nodes
/// do.
std::optional<AnnotatedModel> annotationsIn(const onnx::ModelProto &proto);

/// What import calls a node: its name, or that of its first output.
std::string nodeNameOf(const onnx::NodeProto &node);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_READMODELPROTO_H
