//===- GraphImporter.cpp - Walk an ONNX graph -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace divisi;

llvm::SmallVector<llvm::ArrayRef<ImporterRow>> divisi::importerTables() {
  return {
      elementwiseImporters(), contractionImporters(), windowImporters(),
      poolImporters(),        normalizeImporters(),   movementImporters(),
      partImporters(),        indexImporters(),       shapeImporters(),
      resizeImporters(),      orderImporters(),       convTransposeImporters(),
      scatterImporters(),     quantizeImporters(),    attentionImporters(),
      recurrentImporters(),   sampleImporters(),      selectImporters(),
      signalImporters(),      optimizerImporters(),   runtimeImporters(),
      fusedImporters(),       multiHeadImporters(),   groupQueryImporters(),
      blockImporters(),       dynamicImporters(),     deformImporters(),
      randomImporters(),      sequenceImporters(),    suppressImporters()};
}

ImportFunction divisi::findImporter(const std::string &opType) {
  for (llvm::ArrayRef<ImporterRow> rows : importerTables()) {
    for (const ImporterRow &row : rows) {
      if (opType == row.opType) {
        return row.function;
      }
    }
  }
  return nullptr;
}

/// Left out are those whose body overflows or loses digits (Softplus,
/// ReduceLogSumExp, MeanVarianceNormalization) or holds a long Loop.
llvm::ArrayRef<const char *> divisi::operatorsWithUsableBody() {
  static const char *const kNames[] = {"CausalConvWithState",
                                       "Celu",
                                       "CenterCropPad",
                                       "DynamicQuantizeLinear",
                                       "Elu",
                                       "HardSigmoid",
                                       "LeakyRelu",
                                       "LinearAttention",
                                       "Mish",
                                       "NegativeLogLikelihoodLoss",
                                       "PRelu",
                                       "Selu",
                                       "SoftmaxCrossEntropyLoss",
                                       "Softsign",
                                       "SwiGLU",
                                       "Swish",
                                       "ThresholdedRelu",
                                       "ai.onnx.preview.FlexAttention"};
  return kNames;
}

std::string GraphImporter::nameOf(const OnnxNode &node) {
  if (!node.name.empty()) {
    return node.name;
  }
  // Outputs that nobody reads have no name.
  for (const std::string &output : node.outputs) {
    if (!output.empty()) {
      return output;
    }
  }
  return node.opType;
}

/// `Add`, `ai.onnx.preview.training.Adam`: as the tables have it.
static std::string qualifiedName(const OnnxNode &node) {
  return (node.domain.empty() ? "" : node.domain + ".") + node.opType;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Tensor GraphImporter::lookUp(const std::string &name, const Scope &scope) {
  for (const Scope *at = &scope; at; at = at->outer) {
    auto it = at->tensors.find(name);
    if (it == at->tensors.end()) {
      continue;
    }
    const OnnxTensor *stored = it->second ? it->second->stored : nullptr;
    return stored && !stored->unsupported.empty() ? missingInitializer(*stored)
                                                  : it->second;
  }
  emitter_.fail(ExitCode::Invalid, "there is no value '" + name + "'");
  return nullptr;
}

/// Only those that something reads are in the way, and once.
Tensor GraphImporter::missingInitializer(const OnnxTensor &stored) {
  if (missingInitializers_.insert(&stored).second) {
    unsupported_.add(
        {"initializer", stored.name, stored.unsupported,
         "initializer '" + stored.name + "' " + stored.unsupported});
  }
  return missing_;
}

Tensor GraphImporter::missingInput(UnsupportedPlace place) {
  unsupported_.add(std::move(place));
  return missing_;
}

std::optional<std::vector<Tensor>> GraphImporter::inputsOf(const OnnxNode &node,
                                                           const Scope &scope) {
  std::vector<Tensor> inputs;
  for (const std::string &name : node.inputs) {
    inputs.push_back(name.empty() ? nullptr : lookUp(name, scope));
  }
  if (!emitter_.status().isOk()) {
    return std::nullopt;
  }
  return inputs;
}

/// An output that nobody names may be one that no importer makes.
void GraphImporter::bindResults(const OnnxNode &node,
                                const std::vector<Tensor> &results,
                                Scope &scope) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) {
      continue;
    }
    if (i >= results.size() || !results[i]) {
      return emitter_.fail(ExitCode::Unsupported,
                           "its output " + std::to_string(i) + " ('" +
                               node.outputs[i] + "') is not supported yet");
    }
    scope.tensors[node.outputs[i]] = results[i];
  }
}

void GraphImporter::bindInitializers(const OnnxGraph &graph, Scope &scope) {
  for (const OnnxTensor &tensor : graph.initializers) {
    // An input that is given comes before its default.
    if (!scope.tensors.count(tensor.name)) {
      scope.tensors[tensor.name] = emitter_.initializer(tensor);
    }
  }
}

std::vector<Tensor> GraphImporter::graphOutputs(const OnnxGraph &graph,
                                                Scope &scope) {
  std::vector<Tensor> results;
  for (const OnnxValueInfo &output : graph.outputs) {
    results.push_back(lookUp(output.name, scope));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Both limits are checked here, where every nesting and every expansion comes
/// through: small files can expand to large graphs.
void GraphImporter::importNodes(const std::vector<OnnxNode> &nodes,
                                Scope &scope) {
  if (scope.depth > limits_.depth) {
    return emitter_.fail(ExitCode::Invalid,
                         "functions and graphs are nested deeper than " +
                             std::to_string(limits_.depth) + " levels");
  }
  for (const OnnxNode &node : nodes) {
    if (++imported_ > limits_.expansion) {
      return emitter_.fail(ExitCode::Invalid,
                           "its functions expand to more than " +
                               std::to_string(limits_.expansion) + " nodes");
    }
    importNode(node, scope);
    if (!emitter_.status().isOk()) {
      return;
    }
  }
}

void GraphImporter::importNode(const OnnxNode &given, Scope &scope) {
  const OnnxNode *node = &given;
  bool hasReference =
      std::any_of(given.attributes.begin(), given.attributes.end(),
                  [](const auto &a) { return !a.second.reference.empty(); });
  if (hasReference && !scope.attributes) {
    return emitter_.fail(ExitCode::Invalid,
                         "an attribute refers to that of a function, but "
                         "there is none around it");
  }
  if (hasReference) {
    // A copy whose attributes are the caller's; those it left out are absent.
    auto copy = std::make_unique<OnnxNode>(given);
    for (auto &[name, attribute] : copy->attributes) {
      auto value = scope.attributes->find(attribute.reference);
      if (!attribute.reference.empty() && value != scope.attributes->end()) {
        attribute.value = value->second.value;
      }
      attribute.reference.clear();
    }
    std::erase_if(copy->attributes, [](const auto &entry) {
      return std::holds_alternative<std::monostate>(entry.second.value);
    });
    node = copy.get();
    nodes_.push_back(std::move(copy));
  }
  std::string name = enterNode(*node, scope);
  importOperator(*node, scope);
  if (auto reason = emitter_.takeUnsupported()) {
    passOver(*node, name, std::move(*reason), scope);
  }
}

/// Operators and failures from here on are of `node`, whose name is returned.
std::string GraphImporter::enterNode(const OnnxNode &node, const Scope &scope) {
  std::string name = scope.prefix + nameOf(node);
  std::string modules = scope.modules;
  if (!node.scope.empty()) {
    modules += (modules.empty() ? "" : ".") + node.scope;
  }
  emitter_.setNode(name, modules);
  if (emitter_.status().isOk()) {
    where_ = "node '" + name + "' (" + node.opType + ")";
  }
  return name;
}

/// Notes why the node cannot be imported; its outputs are missing from here on.
void GraphImporter::passOver(const OnnxNode &node, const std::string &name,
                             std::string reason, Scope &scope) {
  std::string sentence = "node '" + name + "' (" + node.opType + "): " + reason;
  unsupported_.add(
      {qualifiedName(node), name, std::move(reason), std::move(sentence)});
  bindMissing(node, scope);
  surveyGraphs(node, scope);
}

void GraphImporter::bindMissing(const OnnxNode &node, Scope &scope) {
  for (const std::string &output : node.outputs) {
    scope.tensors[output] = missing_;
  }
}

/// Looks into the graphs of a node that is passed over, for what else is not
/// supported: any of them may be needed.
void GraphImporter::surveyGraphs(const OnnxNode &node, Scope &scope) {
  for (const auto &[name, attribute] : node.attributes) {
    const auto *graph =
        std::get_if<std::shared_ptr<OnnxGraph>>(&attribute.value);
    if (!graph) {
      continue;
    }
    Scope inner = scopeInside(node, scope);
    for (const OnnxValueInfo &input : (*graph)->inputs) {
      inner.tensors[input.name] = missing_;
    }
    bindInitializers(**graph, inner);
    importNodes((*graph)->nodes, inner);
  }
}

/// Of a graph that the node holds.
GraphImporter::Scope GraphImporter::scopeInside(const OnnxNode &node,
                                                const Scope &scope) const {
  Scope inner;
  inner.outer = &scope;
  inner.attributes = scope.attributes;
  inner.opsets = scope.opsets;
  inner.prefix = scope.prefix + nameOf(node) + "/";
  inner.modules = scope.modules;
  inner.depth = scope.depth + 1;
  return inner;
}

/// A function of the model comes before an operator of the same name; an
/// importer before the body that ONNX gives.
void GraphImporter::importOperator(const OnnxNode &node, Scope &scope) {
  if (!node.unsupported.empty()) {
    return emitter_.fail(ExitCode::Unsupported, node.unsupported);
  }
  auto function = model_.functions.find(functionKey(node));
  if (function != model_.functions.end()) {
    return importCall(node, function->second, scope);
  }
  if (auto importer = findControlFlow(node)) {
    return (this->*importer)(node, scope);
  }
  auto inputs = inputsOf(node, scope);
  if (!inputs) {
    return;
  }
  std::string qualified = qualifiedName(node);
  ImportFunction importer = findImporter(qualified);
  bool isUsable = llvm::any_of(operatorsWithUsableBody(),
                               [&](const char *op) { return qualified == op; });
  bool lacksInput = llvm::is_contained(*inputs, missing_);
  if (lacksInput && (importer || isUsable)) {
    return bindMissing(node, scope);
  }
  bool isSequence = llvm::any_of(*inputs, [](const Tensor &input) {
    return input && input->sequence.has_value();
  });
  if (isSequence && !takesSequences(qualified)) {
    return emitter_.fail(ExitCode::Unsupported,
                         "it takes a sequence of tensors, which only the "
                         "operators of sequences do here: export the model "
                         "with tensors");
  }
  if (importer) {
    NodeImporter one(node, emitter_, std::move(*inputs));
    importer(one);
    if (!one.failed()) {
      bindResults(node, one.results(), scope);
    }
    return;
  }
  std::vector<OnnxOperand> operands;
  for (const Tensor &input : *inputs) {
    operands.push_back(input ? OnnxOperand{input->type, input->dims}
                             : OnnxOperand());
  }
  if (!node.unknown.empty()) {
    return emitter_.fail(ExitCode::Unsupported, node.unknown);
  }
  if (!isUsable) {
    return emitter_.fail(ExitCode::Unsupported, lacksImporter(node));
  }
  auto body = functionBody(node, *scope.opsets, operands, store_);
  if (!body) {
    return emitter_.fail(ExitCode::Unsupported, body.status().message());
  }
  bodies_.push_back(std::make_unique<OnnxFunction>(std::move(*body)));
  importCall(node, *bodies_.back(), scope);
}

void GraphImporter::importCall(const OnnxNode &node,
                               const OnnxFunction &function, Scope &scope) {
  auto inputs = inputsOf(node, scope);
  if (!inputs) {
    return;
  }
  if (inputs->size() > function.inputs.size()) {
    return emitter_.fail(ExitCode::Invalid,
                         "it passes " + std::to_string(inputs->size()) +
                             " inputs to a function of " +
                             std::to_string(function.inputs.size()));
  }
  AttributeMap attributes = function.attributes;
  for (const auto &[name, attribute] : node.attributes) {
    attributes[name] = attribute;
  }
  Scope inner; // No outer one: a function sees its inputs alone.
  inner.attributes = &attributes;
  inner.opsets = &function.opsets;
  inner.prefix = scope.prefix + nameOf(node) + "/";
  inner.modules = scope.modules;
  if (!node.scope.empty()) {
    inner.modules += (inner.modules.empty() ? "" : ".") + node.scope;
  }
  inner.depth = scope.depth + 1;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    // An input left out is bound too: nodes may pass it on as left out.
    inner.tensors[function.inputs[i]] =
        i < inputs->size() ? (*inputs)[i] : nullptr;
  }
  importNodes(function.nodes, inner);
  std::vector<Tensor> results;
  for (size_t i = 0; emitter_.status().isOk() && i < function.outputs.size();
       ++i) {
    bool isWanted = i < node.outputs.size() && !node.outputs[i].empty();
    results.push_back(isWanted ? lookUp(function.outputs[i], inner) : nullptr);
  }
  if (emitter_.status().isOk()) {
    bindResults(node, results, scope);
  }
}

// Outputs are made into values last: an input or a constant can be one.
Expected<std::vector<Tensor>>
GraphImporter::run(const std::map<std::string, Tensor> &arguments) {
  Scope scope;
  scope.tensors = arguments;
  scope.opsets = &model_.opsets;
  bindInitializers(model_.graph, scope);
  importNodes(model_.graph.nodes, scope);
  if (!unsupported_.empty()) {
    return unsupported_.status();
  }
  std::vector<Tensor> results;
  if (emitter_.status().isOk()) {
    where_ = "the graph's outputs";
    emitter_.setNode("outputs", "");
    results = graphOutputs(model_.graph, scope);
    for (const Tensor &result : results) {
      if (!result || isMissing(result)) {
        continue;
      }
      // Each tensor of a sequence is an output of its own.
      bool isList = result->sequence && !result->isNothing;
      for (const Tensor &tensor :
           isList ? *result->sequence : std::vector<Tensor>{result}) {
        emitter_.materialize(tensor);
      }
    }
  }
  // An output can be an initializer that no node reads.
  if (!unsupported_.empty()) {
    return unsupported_.status();
  }
  if (!emitter_.status().isOk()) {
    return Status(emitter_.status().code(),
                  where_ + ": " + emitter_.status().message());
  }
  return results;
}
