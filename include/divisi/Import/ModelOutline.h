//===- ModelOutline.h - Nodes and shapes of a model -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an ONNX model calls its tensors, for those who speak of a plan in the
// model's own names.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_IMPORT_MODELOUTLINE_H
#define DIVISI_IMPORT_MODELOUTLINE_H

#include "divisi/Support/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace divisi {

/// A node of the main graph.
struct OutlineNode {
  std::string name;   ///< As importOnnx names operators that come from it.
  std::string opType; ///< Within its domain.
  std::vector<std::string> inputs, outputs; ///< "" for one left out.
  std::string scope; ///< The module of the exported program, as import has it.
  /// What PyTorch's exporter notes of the call that became the node, such as
  /// `%linear : … (args = (%x, %p_fc_weight, %p_fc_bias), kwargs = {})`.
  std::string torchCall;
};

/// A model without its data.
struct ModelOutline {
  /// An extent for each dimension.
  using Shape = std::vector<int64_t>;
  std::vector<OutlineNode> nodes;      ///< In the order of the graph.
  std::vector<std::string> inputs;     ///< Of the graph, no initializers.
  std::vector<std::string> outputs;    ///< Of the graph.
  std::map<std::string, Shape> shapes; ///< Of tensors whose shape is known.
  std::map<std::string, Shape> initializers; ///< Of weights and constants.
  std::map<std::string, std::string> types;  ///< Of inputs: `FLOAT`.
};

/// Reads the model at `path`, and infers shapes where its inputs have those of
/// `inputs`. Fails with File, or with Invalid.
Expected<ModelOutline>
readOutline(const std::string &path,
            const std::map<std::string, ModelOutline::Shape> &inputs);

} // namespace divisi

#endif // DIVISI_IMPORT_MODELOUTLINE_H
