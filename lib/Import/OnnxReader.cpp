//===- OnnxReader.cpp - Read and check an ONNX file -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnnxConverter.h"
#include "divisi/Import/OnnxModel.h"

#include "onnx/checker.h"
#include "onnx/defs/schema.h"

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
          invalid(path, "function '" + function.name() + "' stands twice")};
    }
  }
  model.graph = converter.convertGraph(*proto.mutable_graph(), model.opsets);
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
    OnnxModel model = convertModel(proto, path, *slim, store, limits);
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
      // None of the operators whose bodies are used has others.
      proto.mutable_attribute()->RemoveLast();
    }
  }
  return proto;
}

/// Some bodies depend on attributes and element types, and are built for the
/// node.
std::optional<OnnxFunction>
divisi::functionBody(const OnnxNode &node,
                     const std::map<std::string, int> &opsets,
                     const std::vector<rt::DType> &types, GlobalStore &store) {
  auto opset = opsets.find(node.domain);
  if (opset == opsets.end()) {
    return std::nullopt;
  }
  try {
    const onnx::OpSchema *schema =
        onnx::OpSchemaRegistry::Schema(node.opType, opset->second, node.domain);
    if (!schema) {
      return std::nullopt;
    }
    onnx::FunctionProto function;
    if (const onnx::FunctionProto *body = schema->GetFunction(opset->second)) {
      function = *body;
    } else if (schema->HasContextDependentFunction()) {
      onnx::NodeProto proto = toProto(node);
      std::vector<onnx::TypeProto> inputs(types.size());
      for (size_t i = 0; i < types.size(); ++i) {
        inputs[i].mutable_tensor_type()->set_elem_type(onnxType(types[i]));
      }
      onnx::FunctionBodyBuildContextImpl context(proto, inputs);
      if (!schema->BuildContextDependentFunction(context, function,
                                                 opset->second)) {
        return std::nullopt;
      }
    } else {
      return std::nullopt;
    }
    OnnxConverter converter(store, OnnxLimits());
    return converter.convertFunction(function, opsets);
  } catch (const ReaderError &) {
    return std::nullopt;
  } catch (const std::exception &) {
    return std::nullopt;
  }
}
