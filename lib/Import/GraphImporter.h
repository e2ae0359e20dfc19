//===- GraphImporter.h - Walk an ONNX graph ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds names to tensors, node after node. A subgraph or a function is walked
// in place of the node that holds or calls it: afterwards neither is left.
//
// A node that Divisi does not do is noted and passed over, and so is all that
// depends on it; the walk goes on, so that one message says everything that is
// unsupported. Any other failure ends it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_GRAPHIMPORTER_H
#define DIVISI_LIB_IMPORT_GRAPHIMPORTER_H

#include "NodeImporter.h"
#include "Unsupported.h"
#include "divisi/Import/Import.h"

namespace divisi {

/// Walks a model's nodes in order and lets an importer make operators of each,
/// with functions inlined and the branches of If chosen.
class GraphImporter {
public:
  /// All must outlive it.
  GraphImporter(const OnnxModel &model, const ImportOptions &options,
                Emitter &emitter, GlobalStore &store)
      : model_(model), limits_(options.limits),
        maxTripCount_(options.maxTripCount), emitter_(emitter), store_(store) {}

  /// Says that an input cannot be had; run() goes on without it and fails.
  Tensor missingInput(UnsupportedPlace place);
  /// Imports the main graph. `arguments` are its inputs by name; the results
  /// are its outputs in order. Fails with Unsupported, saying all that is, or
  /// with Invalid.
  Expected<std::vector<Tensor>>
  run(const std::map<std::string, Tensor> &arguments);

private:
  using AttributeMap = std::map<std::string, OnnxAttribute>;

  /// What names mean somewhere, and around it.
  struct Scope {
    const Scope *outer = nullptr;
    std::map<std::string, Tensor> tensors;
    /// Of the function being walked, for references in its nodes.
    const AttributeMap *attributes = nullptr;
    const std::map<std::string, int> *opsets = nullptr;
    /// What stands before the names of its nodes: the caller's own.
    std::string prefix, modules;
    int depth = 0;
  };

  bool isMissing(const Tensor &tensor) const { return tensor == missing_; }
  void importNodes(const std::vector<OnnxNode> &nodes, Scope &scope);
  void importNode(const OnnxNode &node, Scope &scope);
  void importOperator(const OnnxNode &node, Scope &scope);
  /// Imports a node that holds graphs (ControlFlow.cpp).
  using ControlFlow = void (GraphImporter::*)(const OnnxNode &node,
                                              Scope &scope);
  static ControlFlow findControlFlow(const OnnxNode &node);
  void importIf(const OnnxNode &node, Scope &scope);
  void importLoop(const OnnxNode &node, Scope &scope);
  void importScan(const OnnxNode &node, Scope &scope);
  void importSequenceMap(const OnnxNode &node, Scope &scope);
  const OnnxGraph *bodyOf(const OnnxNode &node, const std::string &name);
  const OnnxGraph *stepsOf(const OnnxNode &node, size_t taken, size_t given);
  std::optional<std::vector<Tensor>>
  importStep(const OnnxGraph &body, std::optional<int64_t> step,
             const std::vector<Tensor> &inputs, const Scope &shared);
  std::optional<int64_t> knownNumber(const Tensor &tensor, int64_t fallback);
  // Those that run a function (ImportBodies.cpp).
  struct LoopParts;
  void importBranches(const OnnxNode &node, const Tensor &condition,
                      Scope &scope);
  void importLoopBody(const OnnxNode &node, const OnnxGraph &body,
                      const std::vector<Tensor> &inputs, Scope &scope);
  void importScanBody(const OnnxNode &node, const OnnxGraph &body,
                      llvm::ArrayRef<Tensor> inputs, size_t states,
                      int64_t steps, Scope &scope);
  bool findCount(const OnnxNode &node, const std::vector<Tensor> &inputs,
                 LoopParts &loop);
  ImportedBody importPlainBody(const OnnxGraph &body, LoopParts &loop,
                               const Scope &shared);
  ImportedBody importTestedBody(const OnnxGraph &body, LoopParts &loop,
                                const Scope &shared);
  void expectEnd(const OnnxNode &node, Scope &scope, int64_t most,
                 std::vector<Tensor> &results);
  static int64_t entryOf(const OnnxNode &node, const std::string &name,
                         size_t i);
  bool fitsCarried(const OnnxGraph &body, size_t first,
                   llvm::ArrayRef<Tensor> before, llvm::ArrayRef<Tensor> after);
  Tensor stack(std::vector<Tensor> parts, int64_t axis, bool reversed);
  Tensor sliceOfStep(const OnnxNode &node, const Tensor &x, size_t i,
                     int64_t step);
  std::optional<int64_t> stepsOfScan(const OnnxNode &node,
                                     llvm::ArrayRef<Tensor> xs);
  std::string enterNode(const OnnxNode &node, const Scope &scope);
  static std::string nameOf(const OnnxNode &node);
  void passOver(const OnnxNode &node, const std::string &name,
                std::string reason, Scope &scope);
  void bindMissing(const OnnxNode &node, Scope &scope);
  void surveyGraphs(const OnnxNode &node, Scope &scope);
  Scope scopeInside(const OnnxNode &node, const Scope &scope) const;
  void importCall(const OnnxNode &node, const OnnxFunction &function,
                  Scope &scope);
  void bindInitializers(const OnnxGraph &graph, Scope &scope);
  std::vector<Tensor> graphOutputs(const OnnxGraph &graph, Scope &scope);
  std::optional<std::vector<Tensor>> inputsOf(const OnnxNode &node,
                                              const Scope &scope);
  std::optional<std::vector<Tensor>> knownInputs(const OnnxNode &node,
                                                 Scope &scope);
  void bindResults(const OnnxNode &node, const std::vector<Tensor> &results,
                   Scope &scope);
  Tensor lookUp(const std::string &name, const Scope &scope);
  Tensor missingInitializer(const OnnxTensor &stored);

  const OnnxModel &model_;
  const OnnxLimits &limits_;
  std::optional<int64_t> maxTripCount_;
  Emitter &emitter_;
  GlobalStore &store_;
  int64_t imported_ = 0;
  /// Bodies and constants that tensors point into.
  std::vector<std::unique_ptr<OnnxFunction>> bodies_;
  std::vector<std::unique_ptr<OnnxNode>> nodes_;
  std::string where_; ///< "node 'x' (Op)", for the first failure.
  UnsupportedList unsupported_;
  /// What is passed over gives this; what reads it is passed over too.
  Tensor missing_ = std::make_shared<ImportedTensor>();
  std::set<const OnnxTensor *> missingInitializers_;
};

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_GRAPHIMPORTER_H
