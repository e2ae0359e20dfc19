//===- ModelOutline.cpp - Nodes and shapes of a model ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Import/ModelOutline.h"

#include "OnnxScope.h"
#include "OnnxTypes.h"
#include "ReadModelProto.h"
#include "divisi/Support/MappedFile.h"

#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

#include <limits>

using namespace divisi;

Status divisi::readModelProto(const std::string &path,
                              onnx::ModelProto &proto) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file) {
    return file.status();
  }
  std::span<const std::byte> bytes = file->bytes();
  bool isRead = bytes.size() <= size_t(std::numeric_limits<int>::max()) &&
                proto.ParseFromArray(bytes.data(), int(bytes.size()));
  return isRead && proto.has_graph()
             ? Status()
             : makeError(ExitCode::Invalid, "'", path,
                         "' is no ONNX model that can be read");
}

std::string divisi::nodeNameOf(const onnx::NodeProto &node) {
  if (!node.name().empty()) {
    return node.name();
  }
  for (const std::string &output : node.output()) {
    if (!output.empty()) {
      return output;
    }
  }
  return node.op_type();
}

static void addShape(const onnx::ValueInfoProto &value, ModelOutline &outline) {
  const onnx::TypeProto::Tensor &tensor = value.type().tensor_type();
  if (!value.type().has_tensor_type() || !tensor.has_shape()) {
    return;
  }
  ModelOutline::Shape shape;
  for (const auto &dim : tensor.shape().dim()) {
    if (!dim.has_dim_value()) {
      return;
    }
    shape.push_back(dim.dim_value());
  }
  outline.shapes[value.name()] = std::move(shape);
}

static OutlineNode nodeOutline(const onnx::NodeProto &node) {
  OutlineNode made;
  made.name = nodeNameOf(node);
  made.opType = node.op_type();
  made.inputs = {node.input().begin(), node.input().end()};
  made.outputs = {node.output().begin(), node.output().end()};
  made.scope = scopeOf(node);
  for (const auto &entry : node.metadata_props()) {
    if (entry.key() == "pkg.torch.onnx.fx_node") {
      made.torchCall = entry.value();
    }
  }
  return made;
}

ModelOutline divisi::outlineOf(const onnx::ModelProto &proto) {
  ModelOutline outline;
  const onnx::GraphProto &graph = proto.graph();
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    outline.initializers[tensor.name()] = {tensor.dims().begin(),
                                           tensor.dims().end()};
    outline.shapes[tensor.name()] = outline.initializers[tensor.name()];
  }
  for (const auto *values :
       {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const onnx::ValueInfoProto &value : *values) {
      addShape(value, outline);
    }
  }
  for (const onnx::ValueInfoProto &input : graph.input()) {
    if (!outline.initializers.count(input.name())) {
      outline.inputs.push_back(input.name());
      outline.types[input.name()] =
          onnxTypeName(input.type().tensor_type().elem_type());
    }
  }
  for (const onnx::ValueInfoProto &output : graph.output()) {
    outline.outputs.push_back(output.name());
  }
  for (const onnx::NodeProto &node : graph.node()) {
    outline.nodes.push_back(nodeOutline(node));
  }
  return outline;
}

/// Gives the inputs the shapes of a plan, and infers those of other tensors. A
/// model whose shapes cannot be inferred has those that it states.
static void
inferShapes(onnx::ModelProto &proto,
            const std::map<std::string, ModelOutline::Shape> &inputs) {
  for (onnx::ValueInfoProto &input : *proto.mutable_graph()->mutable_input()) {
    auto given = inputs.find(input.name());
    if (given == inputs.end()) {
      continue;
    }
    auto *shape = input.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->clear_dim();
    for (int64_t extent : given->second) {
      shape->add_dim()->set_dim_value(extent);
    }
  }
  // What is stated with symbols would contradict what follows from numbers.
  proto.mutable_graph()->clear_value_info();
  for (onnx::ValueInfoProto &output :
       *proto.mutable_graph()->mutable_output()) {
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  try {
    onnx::shape_inference::InferShapes(
        proto, onnx::OpSchemaRegistry::Instance(),
        onnx::ShapeInferenceOptions(/*check_type=*/false, /*strict=*/0,
                                    /*data_prop=*/true));
  } catch (const std::exception &) {
  }
}

Expected<ModelOutline>
divisi::readOutline(const std::string &path,
                    const std::map<std::string, ModelOutline::Shape> &inputs) {
  onnx::ModelProto proto;
  Status status = readModelProto(path, proto);
  if (!status.isOk()) {
    return status;
  }
  inferShapes(proto, inputs);
  return outlineOf(proto);
}
