//===- ControlFlow.cpp - Import of nodes that hold graphs -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the branch that an If takes is known, it takes the node's place; and
// where a Loop or Scan has few steps, and their number is known, each becomes
// operators of its own, named after it:
//
//   Scan(state, xs) of 2 steps, node 'scan'
//   becomes scan/0/add (state, xs[0]), scan/1/add (scan/0/add, xs[1])
//
// What data decides on, and long loops, are in ImportBodies.cpp.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include <algorithm>

using namespace divisi;
using Ints = std::vector<int64_t>;

GraphImporter::ControlFlow
GraphImporter::findControlFlow(const OnnxNode &node) {
  static constexpr std::pair<const char *, ControlFlow> kRows[] = {
      {"If", &GraphImporter::importIf},
      {"Loop", &GraphImporter::importLoop},
      {"Scan", &GraphImporter::importScan},
      {"SequenceMap", &GraphImporter::importSequenceMap}};
  for (const auto &[opType, importer] : kRows) {
    if (node.domain.empty() && node.opType == opType) {
      return importer;
    }
  }
  return nullptr;
}

/// Null if there is none, which ONNX's checker refuses.
const OnnxGraph *GraphImporter::bodyOf(const OnnxNode &node,
                                       const std::string &name) {
  auto it = node.attributes.find(name);
  const auto *graph =
      it == node.attributes.end()
          ? nullptr
          : std::get_if<std::shared_ptr<OnnxGraph>>(&it->second.value);
  return graph ? graph->get() : nullptr;
}

/// The branch that a constant condition selects takes the node's place.
void GraphImporter::importIf(const OnnxNode &node, Scope &scope) {
  auto inputs = inputsOf(node, scope);
  if (!inputs) {
    return;
  }
  if (inputs->empty() || !inputs->front()) {
    return emitter_.fail(ExitCode::Invalid, "it has no condition");
  }
  if (isMissing(inputs->front())) {
    bindMissing(node, scope);
    return surveyGraphs(node, scope);
  }
  auto condition = emitter_.bytesOf(inputs->front());
  if (inputs->front()->count() != 1) {
    return emitter_.fail(ExitCode::Invalid,
                         "its condition '" + node.inputs.front() + "' has " +
                             std::to_string(inputs->front()->count()) +
                             " elements, expected one");
  }
  if (!condition) {
    return importBranches(node, inputs->front(), scope);
  }
  const OnnxGraph *branch =
      bodyOf(node, condition->intAt(0) ? "then_branch" : "else_branch");
  if (!branch) {
    return emitter_.fail(ExitCode::Invalid, "it has no branches");
  }
  Scope inner = scopeInside(node, scope);
  bindInitializers(*branch, inner);
  importNodes(branch->nodes, inner);
  if (emitter_.status().isOk()) {
    bindResults(node, graphOutputs(*branch, inner), scope);
  }
}

//===----------------------------------------------------------------------===//
// Loop and Scan
//===----------------------------------------------------------------------===//

/// The outputs of `body` in its step `step`, or in any if that is not given.
/// Nothing after a failure, or where something in it is unsupported and an
/// output is missing.
std::optional<std::vector<Tensor>>
GraphImporter::importStep(const OnnxGraph &body, std::optional<int64_t> step,
                          const std::vector<Tensor> &inputs,
                          const Scope &shared) {
  Scope inner = shared;
  inner.outer = &shared;
  inner.tensors.clear();
  if (step) {
    inner.prefix += std::to_string(*step) + "/";
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    inner.tensors[body.inputs[i].name] = inputs[i];
  }
  importNodes(body.nodes, inner);
  std::vector<Tensor> outputs;
  if (emitter_.status().isOk()) {
    outputs = graphOutputs(body, inner);
  }
  if (!emitter_.status().isOk() || llvm::is_contained(outputs, missing_)) {
    return std::nullopt;
  }
  return outputs;
}

/// The one number that `tensor` holds, `fallback` if it is left out; nothing if
/// only the run knows it.
std::optional<int64_t> GraphImporter::knownNumber(const Tensor &tensor,
                                                  int64_t fallback) {
  if (!tensor) {
    return fallback;
  }
  auto bytes = emitter_.bytesOf(tensor);
  return bytes && bytes->count() == 1 ? std::optional(bytes->intAt(0))
                                      : std::nullopt;
}

/// The body of a Loop or Scan, if it takes and gives as many tensors as the
/// node does; else fails.
const OnnxGraph *GraphImporter::stepsOf(const OnnxNode &node, size_t taken,
                                        size_t given) {
  const OnnxGraph *body = bodyOf(node, "body");
  if (body && body->inputs.size() == taken && body->outputs.size() == given) {
    return body;
  }
  emitter_.fail(ExitCode::Invalid,
                "its body does not take " + std::to_string(taken) +
                    " tensors and give " + std::to_string(given));
  return nullptr;
}

/// `parts` along a new dim `axis`, the last one first if `reversed`.
Tensor GraphImporter::stack(std::vector<Tensor> parts, int64_t axis,
                            bool reversed) {
  if (parts.empty()) {
    emitter_.fail(
        ExitCode::Unsupported,
        "it has no steps, so the shapes of its outputs are not known");
    return missing_;
  }
  if (reversed) {
    std::reverse(parts.begin(), parts.end());
  }
  int64_t rank = parts.front()->rank() + 1;
  if (axis < -rank || axis >= rank) {
    emitter_.fail(ExitCode::Invalid, "it stacks tensors of rank " +
                                         std::to_string(rank - 1) +
                                         " along axis " + std::to_string(axis));
    return missing_;
  }
  axis = axis < 0 ? axis + rank : axis;
  for (Tensor &part : parts) {
    rt::Dims dims = part->dims;
    dims.insert(dims.begin() + axis, 1);
    part = emitter_.reshape(part, dims);
  }
  return emitter_.concat(parts, axis);
}

/// The inputs of a node with graphs; nothing if something has failed, or if one
/// is missing: then its graphs are surveyed.
std::optional<std::vector<Tensor>>
GraphImporter::knownInputs(const OnnxNode &node, Scope &scope) {
  auto inputs = inputsOf(node, scope);
  if (inputs && llvm::is_contained(*inputs, missing_)) {
    bindMissing(node, scope);
    surveyGraphs(node, scope);
    return std::nullopt;
  }
  return inputs;
}

/// Trip count and condition, then what is carried from step to step. The body
/// also takes its step's number, and first gives whether there is a next one.
void GraphImporter::importLoop(const OnnxNode &node, Scope &scope) {
  auto inputs = knownInputs(node, scope);
  if (!inputs) {
    return;
  }
  size_t carriedCount = inputs->size() < 2 ? 0 : inputs->size() - 2;
  const OnnxGraph *body =
      stepsOf(node, carriedCount + 2, node.outputs.size() + 1);
  if (!body) {
    return;
  }
  inputs->resize(std::max<size_t>(inputs->size(), 2));
  for (size_t i : {0, 1}) {
    if ((*inputs)[i] && (*inputs)[i]->count() != 1) {
      return emitter_.fail(
          ExitCode::Invalid,
          std::string(i == 0 ? "its trip count '" : "its condition '") +
              node.inputs[i] + "' has " +
              std::to_string((*inputs)[i]->count()) +
              " elements, expected one");
    }
  }
  auto trips = knownNumber((*inputs)[0], INT64_MAX);
  auto goesOn = knownNumber((*inputs)[1], 1);
  bool isLong = trips && *trips != INT64_MAX && *trips > kMostSteps;
  if (!trips || !goesOn || isLong) {
    return importLoopBody(node, *body, *inputs, scope);
  }
  Scope shared = scopeInside(node, scope);
  bindInitializers(*body, shared);
  std::vector<Tensor> carried(inputs->end() - int64_t(carriedCount),
                              inputs->end());
  std::vector<std::vector<Tensor>> scanned(node.outputs.size() - carriedCount);
  for (int64_t step = 0; step < *trips && *goesOn; ++step) {
    if (step == kMostSteps) {
      return importLoopBody(node, *body, *inputs, scope);
    }
    std::vector<Tensor> taken = {emitter_.integer(step),
                                 emitter_.scalar(rt::DType::Bool, 1)};
    taken.insert(taken.end(), carried.begin(), carried.end());
    auto given = importStep(*body, step, taken, shared);
    if (!given) {
      return bindMissing(node, scope);
    }
    goesOn = knownNumber(given->front(), 1);
    if (!goesOn) {
      // What has been made of the first steps is not used.
      return importLoopBody(node, *body, *inputs, scope);
    }
    auto firstScanned = given->begin() + 1 + int64_t(carriedCount);
    carried.assign(given->begin() + 1, firstScanned);
    for (size_t i = 0; i < scanned.size(); ++i) {
      scanned[i].push_back(firstScanned[int64_t(i)]);
    }
  }
  enterNode(node, scope);
  for (std::vector<Tensor> &parts : scanned) {
    carried.push_back(stack(std::move(parts), 0, /*reversed=*/false));
  }
  if (emitter_.status().isOk()) {
    bindResults(node, carried, scope);
  }
}

/// Entry `i` of the attribute `name`, 0 if there is none.
int64_t GraphImporter::entryOf(const OnnxNode &node, const std::string &name,
                               size_t i) {
  auto it = node.attributes.find(name);
  const Ints *list = it == node.attributes.end()
                         ? nullptr
                         : std::get_if<Ints>(&it->second.value);
  return list && i < list->size() ? (*list)[i] : 0;
}

/// What of the scanned input `i` step `step` takes.
Tensor GraphImporter::sliceOfStep(const OnnxNode &node, const Tensor &x,
                                  size_t i, int64_t step) {
  int64_t axis = entryOf(node, "scan_input_axes", i);
  axis = axis < 0 ? axis + x->rank() : axis;
  rt::Dims dims = x->dims;
  int64_t extent = dims[static_cast<size_t>(axis)];
  int64_t at =
      entryOf(node, "scan_input_directions", i) ? extent - 1 - step : step;
  dims.erase(dims.begin() + axis);
  return emitter_.reshape(emitter_.sliceAxis(x, axis, at, at + 1), dims);
}

/// How many steps the scanned inputs `xs` are for; fails if they disagree.
std::optional<int64_t> GraphImporter::stepsOfScan(const OnnxNode &node,
                                                  llvm::ArrayRef<Tensor> xs) {
  std::optional<int64_t> steps;
  for (size_t i = 0; i < xs.size(); ++i) {
    int64_t rank = xs[i]->rank(), axis = entryOf(node, "scan_input_axes", i);
    bool isAxis = axis >= -rank && axis < rank;
    int64_t extent =
        isAxis ? xs[i]->dims[size_t(axis < 0 ? axis + rank : axis)] : -1;
    if (!isAxis || (steps && *steps != extent)) {
      emitter_.fail(ExitCode::Invalid,
                    "its scanned inputs are not for the same number of steps");
      return std::nullopt;
    }
    steps = extent;
  }
  return steps;
}

/// States, which are carried from step to step, then what is scanned.
void GraphImporter::importScan(const OnnxNode &node, Scope &scope) {
  auto inputs = knownInputs(node, scope);
  if (!inputs) {
    return;
  }
  if (node.sinceVersion < 9) {
    return emitter_.fail(ExitCode::Unsupported,
                         "a Scan of opset 8 has a batch; export the model for "
                         "opset 9 or later");
  }
  auto attribute = node.attributes.find("num_scan_inputs");
  const auto *count = attribute == node.attributes.end()
                          ? nullptr
                          : std::get_if<int64_t>(&attribute->second.value);
  auto total = static_cast<int64_t>(inputs->size());
  if (!count || *count < 1 || *count > total ||
      total - *count > static_cast<int64_t>(node.outputs.size())) {
    return emitter_.fail(ExitCode::Invalid,
                         "num_scan_inputs does not fit its inputs");
  }
  auto states = static_cast<size_t>(total - *count);
  const OnnxGraph *body = stepsOf(node, inputs->size(), node.outputs.size());
  llvm::ArrayRef<Tensor> xs = llvm::ArrayRef(*inputs).drop_front(states);
  auto steps = body ? stepsOfScan(node, xs) : std::nullopt;
  if (!steps) {
    return;
  }
  if (*steps > kMostSteps) {
    return importScanBody(node, *body, *inputs, states, *steps, scope);
  }
  Scope shared = scopeInside(node, scope);
  bindInitializers(*body, shared);
  std::vector<Tensor> carried(inputs->begin(),
                              inputs->begin() + int64_t(states));
  std::vector<std::vector<Tensor>> scanned(node.outputs.size() - states);
  for (int64_t step = 0; step < *steps; ++step) {
    enterNode(node, scope);
    std::vector<Tensor> taken = carried;
    for (size_t i = 0; i < xs.size(); ++i) {
      taken.push_back(sliceOfStep(node, xs[i], i, step));
    }
    auto given = importStep(*body, step, taken, shared);
    if (!given) {
      return bindMissing(node, scope);
    }
    carried.assign(given->begin(), given->begin() + int64_t(states));
    for (size_t i = 0; i < scanned.size(); ++i) {
      scanned[i].push_back((*given)[states + i]);
    }
  }
  enterNode(node, scope);
  for (size_t i = 0; i < scanned.size(); ++i) {
    carried.push_back(stack(std::move(scanned[i]),
                            entryOf(node, "scan_output_axes", i),
                            entryOf(node, "scan_output_directions", i) != 0));
  }
  if (emitter_.status().isOk()) {
    bindResults(node, carried, scope);
  }
}

/// The body on each tensor of input 0, with those at its place in the other
/// sequences; tensors are the same for all.
void GraphImporter::importSequenceMap(const OnnxNode &node, Scope &scope) {
  auto inputs = knownInputs(node, scope);
  const OnnxGraph *body =
      inputs ? stepsOf(node, inputs->size(), node.outputs.size()) : nullptr;
  if (!body) {
    return;
  }
  if (inputs->empty() || !inputs->front() || !inputs->front()->sequence) {
    return emitter_.fail(ExitCode::Invalid,
                         "input 0 is a tensor, expected a sequence of tensors");
  }
  size_t count = inputs->front()->sequence->size();
  for (size_t i = 0; i < inputs->size(); ++i) {
    const Tensor &input = (*inputs)[i];
    if (!input || (input->sequence && input->sequence->size() != count)) {
      return emitter_.fail(
          ExitCode::Invalid,
          "input " + std::to_string(i) + " is left out, or no sequence of " +
              std::to_string(count) + " tensors, as input 0 is");
    }
  }
  Scope shared = scopeInside(node, scope);
  bindInitializers(*body, shared);
  std::vector<std::vector<Tensor>> mapped(node.outputs.size());
  for (size_t step = 0; step < count; ++step) {
    std::vector<Tensor> taken;
    for (const Tensor &input : *inputs) {
      taken.push_back(input->sequence ? (*input->sequence)[step] : input);
    }
    auto given = importStep(*body, int64_t(step), taken, shared);
    if (!given) {
      return bindMissing(node, scope);
    }
    for (size_t i = 0; i < mapped.size(); ++i) {
      mapped[i].push_back((*given)[i]);
    }
  }
  std::vector<Tensor> results;
  for (std::vector<Tensor> &tensors : mapped) {
    results.push_back(sequenceOf(std::move(tensors)));
  }
  bindResults(node, results, scope);
}
