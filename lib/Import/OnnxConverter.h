//===- OnnxConverter.h - From ONNX's messages to plain data -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_ONNXCONVERTER_H
#define DIVISI_LIB_IMPORT_ONNXCONVERTER_H

#include "ExternalData.h"
#include "OnnxModel.h"
#include "OnnxTypes.h"
#include "WireScanner.h"

#include "onnx/onnx_pb.h"

#include <set>

namespace divisi {

/// Thrown and caught inside the reader only: its neighbour, the onnx library,
/// throws as well.
struct ReaderError {
  Status status; ///< What readOnnxModel returns.
};

/// Throws a ReaderError.
[[noreturn]] void throwError(ExitCode code, std::string message);
/// `node 'x' (Relu)`: by its name or, if it has none, its first output's.
std::string describe(const onnx::NodeProto &node);

/// Turns messages into plain data. Takes the data out of every tensor that it
/// converts, leaving an empty one, so that ONNX's checker afterwards judges
/// the structure alone.
class OnnxConverter {
public:
  /// What is not raw data of the file becomes part of the blob of `store`.
  OnnxConverter(GlobalStore &store, const OnnxLimits &limits)
      : store_(store), limits_(limits) {}

  /// Tensors refer to `locations` of the file `path`, and to files beside it.
  void setFile(const std::string &path,
               const std::vector<SlimModel::Location> &locations,
               ExternalData &external);
  /// The functions that nodes may call.
  void addFunction(const std::string &key) { functions_.insert(key); }

  /// All throw ReaderError.
  OnnxGraph convertGraph(onnx::GraphProto &graph,
                         const std::map<std::string, int> &opsets);
  /// What it cannot read but a model may hold unread (operators and attributes
  /// of nodes, types of initializers) is said in their `unsupported`.
  /// `fallback` are the opsets of a function that names none.
  OnnxFunction convertFunction(onnx::FunctionProto &function,
                               const std::map<std::string, int> &fallback);

  /// What was done to the model so that it can be read.
  const std::vector<std::string> &notes() const { return notes_; }

  /// For ONNX's checker: nodes with operators that ONNX lacks have got a domain
  /// of which it knows nothing; this imports the domain.
  void declareHidden(onnx::ModelProto &model) const;

private:
  void convertAttributes(onnx::NodeProto &node, const std::string &where,
                         const std::map<std::string, int> &opsets,
                         OnnxNode &result);
  void hideFromChecker(onnx::NodeProto &node);
  void sort(google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
            const std::string &where);
  OnnxTensor convertInitializer(onnx::TensorProto &tensor);
  OnnxNode convertNode(onnx::NodeProto &node,
                       const std::map<std::string, int> &opsets);
  OnnxAttribute convertAttribute(onnx::AttributeProto &attribute,
                                 const std::string &where,
                                 const std::map<std::string, int> &opsets);
  OnnxTensor convertTensor(onnx::TensorProto &tensor, const std::string &where);
  ByteRange locate(const onnx::TensorProto &tensor, const OnnxTensor &result,
                   int64_t bytes, const std::string &where);
  ByteRange unpack(const ByteRange &packed, rt::DType type, int64_t count,
                   const std::string &where);

  GlobalStore &store_;
  OnnxLimits limits_;
  std::string path_;
  std::vector<SlimModel::Location> locations_;
  ExternalData *external_ = nullptr;
  std::set<std::string> functions_;
  std::vector<std::string> notes_;
  bool hasHidden_ = false;
};

/// Domain → version; "ai.onnx" is "".
std::map<std::string, int> convertOpsets(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_ONNXCONVERTER_H
