//===- OnnxReader.cpp - Read and check an ONNX file -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnnxConverter.h"
#include "OnnxModel.h"
#include "ReadModelProto.h"

#include "onnx/checker.h"
#include "onnx/defs/schema.h"

#include <algorithm>
#include <set>

using namespace divisi;

/// The oldest opset whose operators have importers.
static constexpr int kOldestOpset = 7;

/// A model of functions alone imports no operators of ONNX's own.
static Status checkOpset(const std::map<std::string, int> &opsets,
                         const std::string &path) {
  auto opset = opsets.find("");
  if (opset == opsets.end()) {
    return Status();
  }
  auto range =
      onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("");
  if (opset->second >= kOldestOpset && opset->second <= range.second) {
    return Status();
  }
  return Status(ExitCode::Unsupported,
                "'" + path + "' is of opset " + std::to_string(opset->second) +
                    ", expected " + std::to_string(kOldestOpset) + " to " +
                    std::to_string(range.second) +
                    "; export the model again for one of these");
}

/// The first line of what the checker says, and the node it was at.
static std::string firstSentence(const std::string &text) {
  std::string result = text.substr(0, text.find("\n\n==> Context:"));
  result.erase(result.find_last_not_of(" .\n") + 1);
  size_t name = text.find("Name: ");
  if (name != std::string::npos) {
    std::string where = text.substr(name, text.find('\n', name) - name);
    result += " (node " + where + ")";
  }
  for (char &c : result) {
    c = c == '\n' ? ' ' : c;
  }
  return result;
}

static Status invalid(const std::string &path, const std::string &why) {
  return Status(ExitCode::Invalid,
                "'" + path + "' is not a valid ONNX model: " + why);
}

/// A value that is named twice among the outputs is one output.
static void dropRepeatedOutputs(OnnxModel &model) {
  std::set<std::string> names;
  std::erase_if(model.graph.outputs, [&](const OnnxValueInfo &output) {
    bool isRepeated = !names.insert(output.name).second;
    if (isRepeated) {
      model.notes.push_back("the model names its output '" + output.name +
                            "' more than once; it is one output");
    }
    return isRepeated;
  });
}

/// All functions are known before the first node that may call one is read.
static OnnxModel convertModel(onnx::ModelProto &proto, const std::string &path,
                              const SlimModel &slim, GlobalStore &store,
                              const OnnxLimits &limits) {
  OnnxModel model;
  model.path = path;
  model.opsets = convertOpsets(proto.opset_import());
  if (Status status = checkOpset(model.opsets, path); !status.isOk()) {
    throw ReaderError{status};
  }
  ExternalData external(path, store);
  OnnxConverter converter(store, limits);
  converter.setFile(path, slim.locations, external);
  auto keyOf = [](const onnx::FunctionProto &function) {
    OnnxNode call;
    call.domain = function.domain() == "ai.onnx" ? "" : function.domain();
    call.opType = function.name();
    call.overload = function.overload();
    return functionKey(call);
  };
  for (const onnx::FunctionProto &function : proto.functions()) {
    converter.addFunction(keyOf(function));
  }
  for (onnx::FunctionProto &function : *proto.mutable_functions()) {
    if (!model.functions
             .emplace(keyOf(function),
                      converter.convertFunction(function, model.opsets))
             .second) {
      throw ReaderError{
          invalid(path, "function '" + function.name() + "' occurs twice")};
    }
  }
  model.graph = converter.convertGraph(*proto.mutable_graph(), model.opsets);
  dropRepeatedOutputs(model);
  model.notes.insert(model.notes.end(), converter.notes().begin(),
                     converter.notes().end());
  converter.declareHidden(proto);
  return model;
}

/// Those that the store has, else those of the file, which it gets.
static Expected<std::span<const std::byte>> modelBytes(const std::string &path,
                                                       GlobalStore &store) {
  if (auto bytes = store.bytesInMemory(path)) {
    return *bytes;
  }
  auto mapping = MappedFile::open(path);
  if (!mapping) {
    return mapping.status();
  }
  std::span<const std::byte> bytes = mapping->bytes();
  store.addFile(path, std::move(*mapping));
  return bytes;
}

// The checker comes last: conversion leaves no data in the messages, so that it
// judges the structure alone and copies no weights.
Expected<OnnxModel> divisi::readOnnxModel(const std::string &path,
                                          GlobalStore &store,
                                          const OnnxLimits &limits) {
  auto bytes = modelBytes(path, store);
  if (!bytes) {
    return bytes.status();
  }
  auto slim = scanModel(*bytes, path, limits);
  if (!slim) {
    return slim.status();
  }
  try {
    onnx::ModelProto proto;
    if (!proto.ParseFromString(slim->bytes)) {
      return invalid(path, "its fields do not parse");
    }
    slim->bytes = std::string();
    if (!proto.has_graph()) {
      return invalid(path, "it has no graph");
    }
    std::optional<AnnotatedModel> annotated = annotationsIn(proto);
    OnnxModel model = convertModel(proto, path, *slim, store, limits);
    model.annotated = std::move(annotated);
    onnx::checker::check_model(proto);
    return model;
  } catch (const ReaderError &error) {
    return error.status;
  } catch (const std::exception &error) {
    return invalid(path, firstSentence(error.what()));
  }
}

//===----------------------------------------------------------------------===//
// Operators that ONNX defines by others
//===----------------------------------------------------------------------===//

static onnx::NodeProto toProto(const OnnxNode &node) {
  onnx::NodeProto proto;
  proto.set_name(node.name);
  proto.set_op_type(node.opType);
  proto.set_domain(node.domain);
  for (const std::string &name : node.inputs) {
    proto.add_input(name);
  }
  for (const std::string &name : node.outputs) {
    proto.add_output(name);
  }
  for (const auto &[name, attribute] : node.attributes) {
    onnx::AttributeProto *out = proto.add_attribute();
    out->set_name(name);
    if (const auto *i = std::get_if<int64_t>(&attribute.value)) {
      out->set_type(onnx::AttributeProto::INT);
      out->set_i(*i);
    } else if (const auto *f = std::get_if<float>(&attribute.value)) {
      out->set_type(onnx::AttributeProto::FLOAT);
      out->set_f(*f);
    } else if (const auto *s = std::get_if<std::string>(&attribute.value)) {
      out->set_type(onnx::AttributeProto::STRING);
      out->set_s(*s);
    } else if (const auto *ints =
                   std::get_if<std::vector<int64_t>>(&attribute.value)) {
      out->set_type(onnx::AttributeProto::INTS);
      out->mutable_ints()->Assign(ints->begin(), ints->end());
    } else {
      throwError(ExitCode::Unsupported,
                 "its attribute '" + name +
                     "' is not a number, text or list of integers, but ONNX's "
                     "body for the operator depends on it");
    }
  }
  return proto;
}

static onnx::TypeProto toProto(const OnnxOperand &operand) {
  onnx::TypeProto proto;
  if (operand.type) {
    auto *tensor = proto.mutable_tensor_type();
    tensor->set_elem_type(onnxType(*operand.type));
    tensor->mutable_shape();
    for (int64_t dim : operand.dims) {
      tensor->mutable_shape()->add_dim()->set_dim_value(dim);
    }
  }
  return proto;
}

/// A body imports what its schema says, which may be its own domain alone; the
/// others are those of the model.
static void addOpsets(onnx::FunctionProto &function,
                      const std::map<std::string, int> &opsets) {
  std::map<std::string, int> own = convertOpsets(function.opset_import());
  for (const auto &[domain, version] : opsets) {
    if (!own.count(domain)) {
      onnx::OperatorSetIdProto *added = function.add_opset_import();
      added->set_domain(domain);
      added->set_version(version);
    }
  }
}

/// The last of `versions` up to `wanted`, else the first: a body names its own
/// opsets, so that it may be newer than the model.
static int bestVersion(std::vector<int> versions, int wanted) {
  std::sort(versions.begin(), versions.end());
  auto after = std::upper_bound(versions.begin(), versions.end(), wanted);
  if (versions.empty()) {
    return wanted;
  }
  return after == versions.begin() ? versions.front() : *(after - 1);
}

/// Some bodies depend on attributes and element types, and are built for the
/// node; false if there is none.
static bool buildBody(const onnx::OpSchema &schema, const OnnxNode &node,
                      int opset, const std::vector<OnnxOperand> &operands,
                      onnx::FunctionProto &body) {
  int version = bestVersion(schema.function_opset_versions(), opset);
  if (const onnx::FunctionProto *fixed = schema.GetFunction(version)) {
    body = *fixed;
    return true;
  }
  if (!schema.HasContextDependentFunction()) {
    return false;
  }
  onnx::NodeProto proto = toProto(node);
  std::vector<onnx::TypeProto> inputs;
  for (const OnnxOperand &operand : operands) {
    inputs.push_back(toProto(operand));
  }
  onnx::FunctionBodyBuildContextImpl context(proto, inputs);
  return schema.BuildContextDependentFunction(
      context, body,
      bestVersion(schema.context_dependent_function_opset_versions(), opset));
}

/// The schema with the body of `node`: that of the model's opset, or, where
/// that version has none, the newest one, whose operator is the same for more
/// types.
static const onnx::OpSchema *schemaWithBody(const OnnxNode &node, int opset) {
  const onnx::OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.opType, opset, node.domain);
  bool hasBody = schema && (schema->HasFunction() ||
                            schema->HasContextDependentFunction());
  return !schema || hasBody
             ? schema
             : onnx::OpSchemaRegistry::Schema(node.opType, node.domain);
}

static Status lacksBody(const OnnxNode &node) {
  return Status(ExitCode::Unsupported, "ONNX gives no body for '" +
                                           node.opType + "' with these inputs");
}

Expected<OnnxFunction> divisi::functionBody(
    const OnnxNode &node, const std::map<std::string, int> &opsets,
    const std::vector<OnnxOperand> &operands, GlobalStore &store) {
  auto opset = opsets.find(node.domain);
  try {
    const onnx::OpSchema *schema =
        opset == opsets.end() ? nullptr : schemaWithBody(node, opset->second);
    onnx::FunctionProto body;
    if (!schema || !buildBody(*schema, node, opset->second, operands, body)) {
      return lacksBody(node);
    }
    OnnxConverter converter(store, OnnxLimits());
    addOpsets(body, opsets);
    return converter.convertFunction(body, opsets);
  } catch (const ReaderError &error) {
    return error.status;
  } catch (const std::exception &) {
    return lacksBody(node);
  }
}
