//===- OnnxModel.h - A checked ONNX model as plain data ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the reader hands to the importers: no protobuf, no exceptions, and no
// bytes of weights, only their places. Attributes that a node leaves out have
// the default of the operator's schema, so that an importer reads one place.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_ONNXMODEL_H
#define DIVISI_LIB_IMPORT_ONNXMODEL_H

#include "divisi/Import/DeviceAnnotations.h"
#include "divisi/Import/OnnxLimits.h"
#include "divisi/Support/GlobalStore.h"
#include "divisi/runtime/kernels/Tensor.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace divisi {

struct OnnxGraph;

/// A tensor with data: an initializer or an attribute.
struct OnnxTensor {
  std::string name;                ///< Empty in an attribute.
  rt::DType type = rt::DType::F32; ///< Of an element.
  rt::Dims dims;  ///< Their product times the byte width fits int64_t.
  ByteRange data; ///< Exactly the tensor's bytes, little-endian, row-major.
  /// Why an initializer cannot be used: then only its name counts. Else empty.
  std::string unsupported;
};

/// The value of an attribute, or in a function's body the name of the
/// function's attribute that it stands for.
struct OnnxAttribute {
  std::string name; ///< As the operator's schema has it.
  /// monostate: none of its own, see `reference`.
  std::variant<std::monostate, int64_t, float, std::string,
               std::vector<int64_t>, std::vector<float>,
               std::vector<std::string>, OnnxTensor, std::shared_ptr<OnnxGraph>>
      value;
  std::string reference; ///< Empty unless a function's attribute is meant.
};

/// One dim of a declared shape: a number, or a symbol, or (both unset) unknown.
struct OnnxDim {
  std::optional<int64_t> value; ///< At least 0 in a valid model.
  std::string symbol;           ///< `batch`; empty if there is none.
};

/// A graph's input or output.
struct OnnxValueInfo {
  std::string name;                         ///< Unique in its graph.
  std::optional<rt::DType> type;            ///< Unset: not declared.
  std::string typeText;                     ///< As ONNX says it, for messages.
  std::optional<std::vector<OnnxDim>> dims; ///< Unset: of unknown rank.
  /// Of a sequence of tensors: what each is, without a name. Else null.
  std::shared_ptr<const OnnxValueInfo> element;
  bool isOptional = false; ///< What is declared is what it may hold.
};

/// One operator, or one call of a function.
struct OnnxNode {
  std::string name;     ///< May be empty.
  std::string opType;   ///< Within its domain.
  std::string domain;   ///< "" is ONNX's own.
  std::string overload; ///< Of a function; else empty.
  /// The version of the operator's schema that the model's opset selects; 0
  /// for a call of a model-local function.
  int sinceVersion = 0;
  std::vector<std::string> inputs; ///< "" for one left out.
  std::vector<std::string> outputs;
  std::map<std::string, OnnxAttribute> attributes;
  /// Why no importer can read it, whatever its inputs are; else empty.
  std::string unsupported;
  /// What to say of an operator that ONNX does not have, unless an importer
  /// has it: its attributes are without defaults. Else empty.
  std::string unknown;
  /// The modules around the node, outermost first, joined by '.'; or empty.
  std::string scope;
};

/// A graph: the model's own, or one in an attribute (a branch of If).
struct OnnxGraph {
  std::string name;                     ///< May be empty.
  std::vector<OnnxValueInfo> inputs;    ///< Initializers may be among them.
  std::vector<OnnxValueInfo> outputs;   ///< In the order of results.
  std::vector<OnnxTensor> initializers; ///< Weights and constants.
  std::vector<OnnxNode> nodes;          ///< Each after the nodes it depends on.
};

/// A function of the model, or an operator's body in terms of others.
struct OnnxFunction {
  std::string name;                         ///< Without domain.
  std::vector<std::string> inputs, outputs; ///< Names in its body.
  /// Attributes with their defaults; monostate for those without.
  std::map<std::string, OnnxAttribute> attributes;
  std::vector<OnnxNode> nodes;
  std::map<std::string, int> opsets;
};

/// A model as it stands in its file, the data of tensors aside.
struct OnnxModel {
  std::string path;                  ///< Of its file, as the caller said it.
  std::map<std::string, int> opsets; ///< domain → version
  OnnxGraph graph;                   ///< The main one.
  /// By functionKey().
  std::map<std::string, OnnxFunction> functions;
  /// Where it is annotated for devices.
  std::optional<AnnotatedModel> annotated;
  /// What was done to it so that it can be read, in whole sentences.
  std::vector<std::string> notes;
};

/// `domain:name:overload`.
std::string functionKey(const OnnxNode &node);
/// That the operator of `node` has no importer.
std::string lacksImporter(const OnnxNode &node);

/// Reads and checks the model at `path`. Weights in the file, and in files
/// beneath its folder, stay mapped in `store`. A model whose bytes `store` has
/// in memory under that name came through a pipe: files that it names lie
/// beneath the working directory. Fails with File, Invalid or Unsupported.
Expected<OnnxModel> readOnnxModel(const std::string &path, GlobalStore &store,
                                  const OnnxLimits &limits = {});

/// The type of what a node reads.
struct OnnxOperand {
  std::optional<rt::DType> type; ///< Unset for an input that is left out.
  rt::Dims dims;                 ///< All known.
};

/// The body that ONNX gives for `node`'s operator. It may depend on the types
/// of `operands`, one for each input. Unsupported if ONNX gives none.
Expected<OnnxFunction> functionBody(const OnnxNode &node,
                                    const std::map<std::string, int> &opsets,
                                    const std::vector<OnnxOperand> &operands,
                                    GlobalStore &store);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_ONNXMODEL_H
