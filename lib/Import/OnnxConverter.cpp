//===- OnnxConverter.cpp - From ONNX's messages to plain data -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnnxConverter.h"

#include "OnnxScope.h"
#include "SortNodes.h"

#include "onnx/defs/schema.h"

#include <algorithm>

using namespace divisi;

/// The domain of nodes that the checker need not know.
static constexpr char kHiddenDomain[] = "divisi.hidden";
/// What ONNX Runtime puts in ONNX's own domain in models of any version.
static constexpr std::string_view kOfRuntime[] = {
    "LayerNormalization", "SimplifiedLayerNormalization"};
/// Where it puts what it has made for one processor.
static constexpr std::string_view kOfProcessors[] = {"com.microsoft.nchwc",
                                                     "com.ms.internal.nhwc"};
/// Withdrawn as soon as it came, and exported until its successor came.
static constexpr std::string_view kWithdrawn = "GroupNormalization";

void divisi::throwError(ExitCode code, std::string message) {
  throw ReaderError{Status(code, std::move(message))};
}

std::map<std::string, int> divisi::convertOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &list) {
  std::map<std::string, int> result;
  for (const onnx::OperatorSetIdProto &opset : list) {
    std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    int64_t version = opset.version();
    if (version < 0 || version > INT32_MAX) {
      throwError(ExitCode::Invalid, "opset version " + std::to_string(version) +
                                        " of domain '" + domain +
                                        "' is not a valid version");
    }
    result[domain] = static_cast<int>(version);
  }
  return result;
}

std::string divisi::functionKey(const OnnxNode &node) {
  return node.domain + ":" + node.opType + ":" + node.overload;
}

std::string divisi::lacksImporter(const OnnxNode &node) {
  return "the operator '" + (node.domain.empty() ? "" : node.domain + ".") +
         node.opType + "' has no importer yet; export the model without it";
}

void OnnxConverter::setFile(const std::string &path,
                            const std::vector<SlimModel::Location> &locations,
                            ExternalData &external) {
  path_ = path;
  locations_ = locations;
  external_ = &external;
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
  case onnx::AttributeProto::TYPE_PROTO:
    break; // Of an optional that holds nothing: no operator asks what.
  default:
    throwError(ExitCode::Unsupported,
               here + " has the type " +
                   onnx::AttributeProto_AttributeType_Name(attribute.type()) +
                   ", which Divisi does not support");
  }
  return result;
}

std::string divisi::describe(const onnx::NodeProto &node) {
  std::string name = node.name();
  if (name.empty() && node.output_size()) {
    name = node.output(0);
  }
  return "node '" + name + "' (" + node.op_type() + ")";
}

/// The schema that `opsets` select for `node`; where there is none, null, and
/// the node says so. An importer may know operators of other domains.
static const onnx::OpSchema *
findSchema(OnnxNode &node, const std::string &where,
           const std::map<std::string, int> &opsets) {
  auto opset = opsets.find(node.domain);
  std::string quoted =
      "'" + (node.domain.empty() ? "ai.onnx" : node.domain) + "'";
  if (opset == opsets.end()) {
    throwError(ExitCode::Invalid, where + " is of the domain " + quoted +
                                      ", which the model does not import");
  }
  const onnx::OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.opType, opset->second, node.domain);
  if (schema && (!schema->Deprecated() || node.opType == kWithdrawn)) {
    return schema;
  }
  if (std::ranges::find(kOfProcessors, node.domain) !=
      std::end(kOfProcessors)) {
    node.unsupported = "it has a form for one processor, which ONNX Runtime's "
                       "optimizer writes at level all; let it save the model "
                       "at level extended (ORT_ENABLE_EXTENDED)";
    return nullptr;
  }
  // Of other domains only importers know.
  if (!onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().count(
          node.domain)) {
    node.unknown = lacksImporter(node);
    return nullptr;
  }
  // What ONNX has had, and has no more at this version, is no other's.
  bool isOnlyOnnx =
      node.domain.empty() &&
      std::ranges::find(kOfRuntime, node.opType) == std::end(kOfRuntime);
  std::string &reason = isOnlyOnnx ? node.unsupported : node.unknown;
  reason = schema
               ? "the operator '" + node.opType +
                     "' is deprecated from "
                     "version " +
                     std::to_string(schema->SinceVersion()) +
                     " of the domain " + quoted +
                     " on, and the model is of "
                     "version " +
                     std::to_string(opset->second) +
                     "; export the model with standard operators"
               : "the domain " + quoted + " has no operator '" + node.opType +
                     "' at version " + std::to_string(opset->second) +
                     "; export the model with standard operators";
  return nullptr;
}

/// What `error` says of the place `where`, if it is that Divisi lacks
/// something; another error goes on.
static std::string reasonIn(const ReaderError &error,
                            const std::string &where) {
  if (error.status.code() != ExitCode::Unsupported) {
    throw error;
  }
  const std::string &message = error.status.message();
  return message.starts_with(where) ? message.substr(where.size()) : message;
}

/// An attribute that Divisi lacks is the importer's to report, with all others.
void OnnxConverter::convertAttributes(onnx::NodeProto &node,
                                      const std::string &where,
                                      const std::map<std::string, int> &opsets,
                                      OnnxNode &result) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    OnnxAttribute converted;
    try {
      converted = convertAttribute(attribute, where, opsets);
    } catch (const ReaderError &error) {
      result.unsupported = reasonIn(error, where + ": ");
      continue;
    }
    if (!result.attributes.emplace(attribute.name(), converted).second) {
      throwError(ExitCode::Invalid,
                 where + " has the attribute '" + attribute.name() + "' twice");
    }
  }
}

/// The checker refuses operators that ONNX does not have; of other domains it
/// knows nothing.
void OnnxConverter::hideFromChecker(onnx::NodeProto &node) {
  node.set_domain(kHiddenDomain);
  hasHidden_ = true;
}

void OnnxConverter::declareHidden(onnx::ModelProto &model) const {
  if (!hasHidden_) {
    return;
  }
  auto declareIn = [](auto &message) {
    onnx::OperatorSetIdProto *opset = message.add_opset_import();
    opset->set_domain(kHiddenDomain);
    opset->set_version(1);
  };
  declareIn(model);
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    declareIn(function);
  }
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
  convertAttributes(node, where, opsets, result);
  bool isCall = functions_.count(functionKey(result));
  const onnx::OpSchema *schema =
      isCall ? nullptr : findSchema(result, where, opsets);
  if (!result.unsupported.empty() || !result.unknown.empty()) {
    hideFromChecker(node);
    return result;
  }
  if (isCall) {
    return result;
  }
  if (schema->Deprecated()) {
    hideFromChecker(node);
  }
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

/// ONNX's checker wants a type and a shape of each; who computes them needs
/// neither.
static void completeForChecker(onnx::ValueInfoProto &value) {
  if (value.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    value.mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
  if (value.type().has_tensor_type()) {
    value.mutable_type()->mutable_tensor_type()->mutable_shape();
  }
}

/// What is no tensor is only told when somebody asks for it; an optional is
/// what it holds. A dim of -1 is open: so some converters write it.
static OnnxValueInfo convertType(const onnx::TypeProto &given) {
  if (given.has_optional_type()) {
    OnnxValueInfo held = convertType(given.optional_type().elem_type());
    held.isOptional = true;
    return held;
  }
  OnnxValueInfo result;
  if (!given.has_tensor_type()) {
    result.typeText = given.value_case() == onnx::TypeProto::VALUE_NOT_SET
                          ? "not declared"
                          : "not a tensor";
    if (given.has_sequence_type()) {
      result.element = std::make_shared<OnnxValueInfo>(
          convertType(given.sequence_type().elem_type()));
    }
    return result;
  }
  const onnx::TypeProto_Tensor &type = given.tensor_type();
  result.type = divisi::convertType(type.elem_type());
  result.typeText = onnxTypeName(type.elem_type());
  if (!type.has_shape()) {
    return result;
  }
  result.dims.emplace();
  for (const auto &dim : type.shape().dim()) {
    OnnxDim converted;
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      converted.value = dim.dim_value();
    }
    converted.symbol = dim.dim_param();
    result.dims->push_back(std::move(converted));
  }
  return result;
}

static OnnxValueInfo convertValue(const onnx::ValueInfoProto &value) {
  OnnxValueInfo result = convertType(value.type());
  result.name = value.name();
  return result;
}

/// One that Divisi lacks is the importer's to report, if something reads it.
OnnxTensor OnnxConverter::convertInitializer(onnx::TensorProto &tensor) {
  std::string where = "initializer '" + tensor.name() + "'";
  try {
    return convertTensor(tensor, where);
  } catch (const ReaderError &error) {
    OnnxTensor result;
    result.name = tensor.name();
    result.unsupported = reasonIn(error, where + " ");
    return result;
  }
}

/// Initializers first, and each once: nodes find them by name.
OnnxGraph
OnnxConverter::convertGraph(onnx::GraphProto &graph,
                            const std::map<std::string, int> &opsets) {
  OnnxGraph result;
  result.name = graph.name();
  if (graph.sparse_initializer_size()) {
    throwError(ExitCode::Unsupported,
               "graph '" + graph.name() +
                   "' has sparse initializers; export it "
                   "with dense ones");
  }
  std::set<std::string> names;
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    if (!names.insert(tensor.name()).second) {
      throwError(ExitCode::Invalid,
                 "initializer '" + tensor.name() + "' occurs twice");
    }
    result.initializers.push_back(convertInitializer(tensor));
  }
  for (onnx::ValueInfoProto &value : *graph.mutable_input()) {
    result.inputs.push_back(convertValue(value));
    completeForChecker(value);
  }
  for (onnx::ValueInfoProto &value : *graph.mutable_output()) {
    result.outputs.push_back(convertValue(value));
    completeForChecker(value);
  }
  sort(*graph.mutable_node(), "graph '" + graph.name() + "'");
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    result.nodes.push_back(convertNode(node, opsets));
  }
  return result;
}

void OnnxConverter::sort(
    google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
    const std::string &where) {
  if (sortNodes(nodes)) {
    notes_.push_back("the nodes of " + where +
                     " are not in the order in which they depend on each "
                     "other, as ONNX wants them; they are read in that order");
  }
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
  sort(*function.mutable_node(), "function '" + function.name() + "'");
  for (onnx::NodeProto &node : *function.mutable_node()) {
    result.nodes.push_back(convertNode(node, result.opsets));
  }
  return result;
}
