//===- OnnxConverter.cpp - From ONNX's messages to plain data -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnnxConverter.h"

#include "OnnxScope.h"
#include "divisi/Support/CheckedMath.h"

#include "onnx/defs/schema.h"

#include <charconv>
#include <cstring>

using namespace divisi;

[[noreturn]] static void fail(ExitCode code, std::string message) {
  throw ReaderError{Status(code, std::move(message))};
}

std::map<std::string, int> divisi::convertOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &list) {
  std::map<std::string, int> result;
  for (const onnx::OperatorSetIdProto &opset : list) {
    std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    int64_t version = opset.version();
    if (version < 0 || version > INT32_MAX) {
      fail(ExitCode::Invalid, "opset version " + std::to_string(version) +
                                  " of domain '" + domain + "' is no version");
    }
    result[domain] = static_cast<int>(version);
  }
  return result;
}

std::string divisi::functionKey(const OnnxNode &node) {
  return node.domain + ":" + node.opType + ":" + node.overload;
}

void OnnxConverter::setFile(const std::string &path,
                            const std::vector<SlimModel::Location> &locations,
                            ExternalData &external) {
  path_ = path;
  locations_ = locations;
  external_ = &external;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Appends the elements of a typed field as `T` each.
template <typename T, typename Field>
static void appendElements(const Field &field, std::vector<std::byte> &out) {
  for (auto element : field) {
    T value = static_cast<T>(element);
    const auto *bytes = reinterpret_cast<const std::byte *>(&value);
    out.insert(out.end(), bytes, bytes + sizeof(T));
  }
}

/// The data of a tensor that is not raw, as raw bytes.
static std::vector<std::byte> typedData(const onnx::TensorProto &tensor,
                                        rt::DType type) {
  std::vector<std::byte> out;
  switch (type) {
  case rt::DType::F32:
    appendElements<float>(tensor.float_data(), out);
    break;
  case rt::DType::F64:
    appendElements<double>(tensor.double_data(), out);
    break;
  case rt::DType::I64:
    appendElements<int64_t>(tensor.int64_data(), out);
    break;
  case rt::DType::U32:
    appendElements<uint32_t>(tensor.uint64_data(), out);
    break;
  case rt::DType::U64:
    appendElements<uint64_t>(tensor.uint64_data(), out);
    break;
  case rt::DType::I32:
    appendElements<int32_t>(tensor.int32_data(), out);
    break;
  case rt::DType::F16:
  case rt::DType::BF16:
  case rt::DType::I16:
  case rt::DType::U16:
    appendElements<uint16_t>(tensor.int32_data(), out);
    break;
  case rt::DType::I8:
  case rt::DType::U8:
    appendElements<uint8_t>(tensor.int32_data(), out);
    break;
  case rt::DType::Bool:
    appendElements<bool>(tensor.int32_data(), out);
    break;
  }
  return out;
}

ByteRange OnnxConverter::locate(const onnx::TensorProto &tensor,
                                const OnnxTensor &result, int64_t bytes,
                                const std::string &where) {
  if (tensor.data_location() == onnx::TensorProto_DataLocation_EXTERNAL) {
    if (!external_) {
      fail(ExitCode::Invalid, where + " may not have external data");
    }
    std::map<std::string, std::string> entries;
    for (const auto &entry : tensor.external_data()) {
      entries[entry.key()] = entry.value();
    }
    auto range = external_->locate(result.name, entries, bytes);
    if (!range) {
      fail(range.status().code(), range.status().message());
    }
    return *range;
  }
  // The scanner alone writes doc_string.
  if (tensor.has_doc_string()) {
    size_t number = 0;
    const std::string &text = tensor.doc_string();
    std::from_chars(text.data(), text.data() + text.size(), number);
    return {path_, locations_.at(number).offset, locations_.at(number).length};
  }
  std::span<const std::byte> raw(
      reinterpret_cast<const std::byte *>(tensor.raw_data().data()),
      tensor.raw_data().size());
  return store_.addBlob(tensor.has_raw_data() ? raw
                                              : typedData(tensor, result.type));
}

OnnxTensor OnnxConverter::convertTensor(onnx::TensorProto &tensor,
                                        const std::string &where) {
  OnnxTensor result;
  result.name = tensor.name();
  if (tensor.has_segment()) {
    fail(ExitCode::Unsupported, where + " is stored in segments");
  }
  auto type = convertType(tensor.data_type());
  if (!type) {
    bool isKnown = onnx::TensorProto_DataType_IsValid(tensor.data_type()) &&
                   tensor.data_type() != 0;
    fail(isKnown ? ExitCode::Unsupported : ExitCode::Invalid,
         where + " has the element type " + onnxTypeName(tensor.data_type()) +
             ", which Divisi does not have");
  }
  result.type = *type;
  if (tensor.dims_size() > limits_.rank) {
    fail(ExitCode::Invalid, where + " has rank " +
                                std::to_string(tensor.dims_size()) +
                                ", more than " + std::to_string(limits_.rank));
  }
  for (int64_t dim : tensor.dims()) {
    if (dim < 0) {
      fail(ExitCode::Invalid, where + " has the extent " + std::to_string(dim));
    }
    result.dims.push_back(dim);
  }
  auto count = checkedProduct(result.dims);
  auto bytes = count ? checkedMul(*count, rt::byteWidth(*type)) : count;
  if (!bytes) {
    fail(ExitCode::Invalid, where + " has more bytes than int64 can count");
  }
  result.data = locate(tensor, result, *bytes, where);
  if (result.data.length != *bytes) {
    fail(ExitCode::Invalid,
         where + " has " + std::to_string(result.data.length) +
             " bytes of data, expected " + std::to_string(*bytes) +
             " for its shape and type");
  }
  // What the checker may see of it.
  onnx::TensorProto empty;
  empty.set_name(tensor.name());
  empty.set_data_type(tensor.data_type());
  empty.add_dims(0);
  empty.set_raw_data("");
  tensor = std::move(empty);
  return result;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// One alternative of the variant a type; a reference has no value of its own.
OnnxAttribute
OnnxConverter::convertAttribute(onnx::AttributeProto &attribute,
                                const std::string &where,
                                const std::map<std::string, int> &opsets) {
  OnnxAttribute result;
  result.name = attribute.name();
  result.reference = attribute.ref_attr_name();
  if (!result.reference.empty()) {
    return result;
  }
  std::string here = where + ": attribute '" + attribute.name() + "'";
  switch (attribute.type()) {
  case onnx::AttributeProto::INT:
    result.value = attribute.i();
    break;
  case onnx::AttributeProto::FLOAT:
    result.value = attribute.f();
    break;
  case onnx::AttributeProto::STRING:
    result.value = attribute.s();
    break;
  case onnx::AttributeProto::INTS:
    result.value =
        std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end());
    break;
  case onnx::AttributeProto::FLOATS:
    result.value = std::vector<float>(attribute.floats().begin(),
                                      attribute.floats().end());
    break;
  case onnx::AttributeProto::STRINGS:
    result.value = std::vector<std::string>(attribute.strings().begin(),
                                            attribute.strings().end());
    break;
  case onnx::AttributeProto::TENSOR:
    result.value = convertTensor(*attribute.mutable_t(), here);
    break;
  case onnx::AttributeProto::GRAPH:
    result.value = std::make_shared<OnnxGraph>(
        convertGraph(*attribute.mutable_g(), opsets));
    break;
  default:
    fail(ExitCode::Unsupported,
         here + " has the type " +
             onnx::AttributeProto_AttributeType_Name(attribute.type()) +
             ", which Divisi does not have");
  }
  return result;
}

static std::string describe(const onnx::NodeProto &node) {
  std::string name = node.name();
  if (name.empty() && node.output_size()) {
    name = node.output(0);
  }
  return "node '" + name + "' (" + node.op_type() + ")";
}

/// The schema that `opsets` select for `node`, or a failure.
static const onnx::OpSchema *
findSchema(const onnx::NodeProto &node, const std::string &domain,
           const std::map<std::string, int> &opsets) {
  auto opset = opsets.find(domain);
  std::string quoted = "'" + (domain.empty() ? "ai.onnx" : domain) + "'";
  if (opset == opsets.end()) {
    fail(ExitCode::Invalid, describe(node) + " is of the domain " + quoted +
                                ", which the model does not import");
  }
  const onnx::OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.op_type(), opset->second, domain);
  if (!schema || schema->Deprecated()) {
    fail(ExitCode::Unsupported,
         describe(node) + ": the domain " + quoted + " has no operator '" +
             node.op_type() + "' at version " + std::to_string(opset->second) +
             "; export the model with standard operators");
  }
  return schema;
}

/// With the defaults of the schema, which importers rely on.
OnnxNode OnnxConverter::convertNode(onnx::NodeProto &node,
                                    const std::map<std::string, int> &opsets) {
  OnnxNode result;
  result.name = node.name();
  result.opType = node.op_type();
  result.domain = node.domain() == "ai.onnx" ? "" : node.domain();
  result.overload = node.overload();
  result.inputs.assign(node.input().begin(), node.input().end());
  result.outputs.assign(node.output().begin(), node.output().end());
  result.scope = scopeOf(node);
  std::string where = describe(node);
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    OnnxAttribute converted = convertAttribute(attribute, where, opsets);
    if (!result.attributes.emplace(attribute.name(), converted).second) {
      fail(ExitCode::Invalid,
           where + " has the attribute '" + attribute.name() + "' twice");
    }
  }
  if (functions_.count(functionKey(result))) {
    return result;
  }
  const onnx::OpSchema *schema = findSchema(node, result.domain, opsets);
  result.sinceVersion = schema->SinceVersion();
  for (const auto &[name, declared] : schema->attributes()) {
    onnx::AttributeProto value = declared.default_value;
    if (!value.has_type() || value.type() == onnx::AttributeProto::UNDEFINED ||
        result.attributes.count(name)) {
      continue;
    }
    OnnxAttribute converted = convertAttribute(value, where, opsets);
    converted.name = name;
    result.attributes.emplace(name, std::move(converted));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Graphs and functions
//===----------------------------------------------------------------------===//

/// What is no tensor is only told when somebody asks for it.
static OnnxValueInfo convertValue(const onnx::ValueInfoProto &value) {
  OnnxValueInfo result;
  result.name = value.name();
  if (!value.type().has_tensor_type()) {
    result.typeText = "not a tensor";
    return result;
  }
  const onnx::TypeProto_Tensor &type = value.type().tensor_type();
  result.type = convertType(type.elem_type());
  result.typeText = onnxTypeName(type.elem_type());
  if (!type.has_shape()) {
    return result;
  }
  result.dims.emplace();
  for (const auto &dim : type.shape().dim()) {
    OnnxDim converted;
    if (dim.has_dim_value()) {
      converted.value = dim.dim_value();
    }
    converted.symbol = dim.dim_param();
    result.dims->push_back(std::move(converted));
  }
  return result;
}

/// Initializers first, and each once: nodes find them by name.
OnnxGraph
OnnxConverter::convertGraph(onnx::GraphProto &graph,
                            const std::map<std::string, int> &opsets) {
  OnnxGraph result;
  result.name = graph.name();
  if (graph.sparse_initializer_size()) {
    fail(ExitCode::Unsupported, "graph '" + graph.name() +
                                    "' has sparse initializers; export it "
                                    "with dense ones");
  }
  std::set<std::string> names;
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    if (!names.insert(tensor.name()).second) {
      fail(ExitCode::Invalid,
           "initializer '" + tensor.name() + "' stands twice");
    }
    result.initializers.push_back(
        convertTensor(tensor, "initializer '" + tensor.name() + "'"));
  }
  for (const auto &value : graph.input()) {
    result.inputs.push_back(convertValue(value));
  }
  for (const auto &value : graph.output()) {
    result.outputs.push_back(convertValue(value));
  }
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    result.nodes.push_back(convertNode(node, opsets));
  }
  return result;
}

/// Its nodes are read by its own opsets, which may be older than the model's.
OnnxFunction
OnnxConverter::convertFunction(onnx::FunctionProto &function,
                               const std::map<std::string, int> &fallback) {
  OnnxFunction result;
  result.name = function.name();
  result.inputs.assign(function.input().begin(), function.input().end());
  result.outputs.assign(function.output().begin(), function.output().end());
  result.opsets = convertOpsets(function.opset_import());
  if (result.opsets.empty()) {
    result.opsets = fallback;
  }
  for (const std::string &name : function.attribute()) {
    result.attributes[name].name = name;
  }
  for (onnx::AttributeProto &attribute : *function.mutable_attribute_proto()) {
    result.attributes[attribute.name()] = convertAttribute(
        attribute, "function '" + function.name() + "'", result.opsets);
  }
  for (onnx::NodeProto &node : *function.mutable_node()) {
    result.nodes.push_back(convertNode(node, result.opsets));
  }
  return result;
}
