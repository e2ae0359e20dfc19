//===- SharedInputs.cpp - Inputs without a batch --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedInputs.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace divisi;

/// Scalars are shared without being named.
static Status markNamed(const std::vector<std::string> &names,
                        std::vector<InputShape> &inputs) {
  std::string known;
  for (const InputShape &input : inputs) {
    if (!input.constant && !input.state) {
      known += (known.empty() ? "'" : ", '") + input.name + "'";
    }
  }
  for (const std::string &name : names) {
    auto named = llvm::find_if(inputs, [&](const InputShape &input) {
      return input.name == name && !input.constant && !input.state;
    });
    if (named == inputs.end()) {
      return makeError(ExitCode::Usage, "--shared-inputs names '", name,
                       "', and a run takes ",
                       known.empty() ? "no inputs" : known);
    }
    named->isShared = named->mayHaveBatch();
  }
  return Status();
}

/// The dims of `input`, as the model has them; unnamed where it says nothing.
static std::vector<OnnxDim> dimsOf(const OnnxGraph &graph,
                                   const InputShape &input) {
  auto info = llvm::find_if(graph.inputs, [&](const OnnxValueInfo &known) {
    return known.name == input.name;
  });
  std::vector<OnnxDim> dims = info->dims.value_or(std::vector<OnnxDim>());
  dims.resize(input.dims.size());
  return dims;
}

/// Names of the batch, each with its extent.
static std::map<std::string, int64_t>
batchesOf(const OnnxGraph &graph, const std::vector<InputShape> &inputs) {
  std::map<std::string, int64_t> batches;
  std::set<std::string> others{""};
  for (const InputShape &input : inputs) {
    std::vector<OnnxDim> dims = dimsOf(graph, input);
    for (size_t i = 1; i < dims.size(); ++i) {
      others.insert(dims[i].symbol);
    }
    if (input.mayHaveBatch()) {
      batches.emplace(dims.front().symbol, input.dims.front());
    }
  }
  for (const std::string &name : others) {
    batches.erase(name);
  }
  return batches;
}

Status divisi::markShared(const OnnxGraph &graph, const ImportOptions &options,
                          std::vector<InputShape> &inputs) {
  if (options.shared) {
    return markNamed(*options.shared, inputs);
  }
  auto batches = batchesOf(graph, inputs);
  for (InputShape &input : inputs) {
    if (batches.empty() || !input.mayHaveBatch()) {
      continue;
    }
    OnnxDim dim = dimsOf(graph, input).front();
    bool isOfSize = llvm::any_of(
        batches, [&](const auto &batch) { return batch.second == dim.value; });
    input.isShared = dim.value
                         ? *dim.value == 1 || !isOfSize
                         : !dim.symbol.empty() && !batches.count(dim.symbol);
  }
  return Status();
}
