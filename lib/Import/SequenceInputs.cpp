//===- SequenceInputs.cpp - Sequences that a model takes ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SequenceInputs.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;

std::string divisi::elementName(const std::string &sequence, size_t index) {
  return sequence + "[" + std::to_string(index) + "]";
}

static bool isGiven(const ImportOptions &options, const std::string &name) {
  return options.inputs.count(name) || options.constants.count(name) ||
         llvm::any_of(options.tensors, [&](const ImportOptions::Given &given) {
           return given.label.name == name;
         });
}

/// What tensor `index` of the sequence `input` is, as an input. A symbol stands
/// for another number in each of them.
static OnnxValueInfo elementOf(const OnnxValueInfo &input, size_t index) {
  OnnxValueInfo element = *input.element;
  element.name = elementName(input.name, index);
  if (element.dims) {
    for (OnnxDim &dim : *element.dims) {
      dim.symbol.clear();
    }
  }
  return element;
}

void divisi::expandSequences(OnnxGraph &graph, const ImportOptions &options) {
  std::vector<OnnxValueInfo> inputs;
  std::vector<OnnxNode> nodes;
  for (OnnxValueInfo &input : graph.inputs) {
    bool isList = input.element && isGiven(options, elementName(input.name, 0));
    bool isNothing =
        input.isOptional && !isList && !isGiven(options, input.name);
    if (!isList && !isNothing) {
      inputs.push_back(std::move(input));
      continue;
    }
    OnnxNode node;
    node.name = input.name;
    node.opType = isNothing ? "Optional" : "SequenceConstruct";
    node.outputs = {input.name};
    for (size_t i = 0; isList && isGiven(options, elementName(input.name, i));
         ++i) {
      inputs.push_back(elementOf(input, i));
      node.inputs.push_back(inputs.back().name);
    }
    nodes.push_back(std::move(node));
    if (isNothing && options.note) {
      options.note("the optional input '" + input.name +
                   "' holds nothing, as neither a shape nor a tensor is given "
                   "for it");
    }
  }
  graph.inputs = std::move(inputs);
  graph.nodes.insert(graph.nodes.begin(),
                     std::make_move_iterator(nodes.begin()),
                     std::make_move_iterator(nodes.end()));
}
