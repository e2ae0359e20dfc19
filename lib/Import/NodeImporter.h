//===- NodeImporter.h - What an importer of one node sees -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each ONNX operator has one function in a table of its family (Import*.cpp):
//
//   static void importTranspose(NodeImporter &node) {
//     …
//     node.setResult(0, node.emitter().transpose(node.input(0), permutation));
//   }
//
// What its schema promises (number of inputs, required attributes) has been
// checked; shapes and constants have not. A function that fails says why and
// returns.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_NODEIMPORTER_H
#define DIVISI_LIB_IMPORT_NODEIMPORTER_H

#include "Emitter.h"

namespace divisi {

/// One node and the tensors that it reads; see the file's head.
class NodeImporter {
public:
  /// `inputs` has an empty tensor where the node leaves an input out.
  NodeImporter(const OnnxNode &node, Emitter &emitter,
               std::vector<Tensor> inputs)
      : node_(node), emitter_(emitter), inputs_(std::move(inputs)),
        results_(node.outputs.size()) {}

  /// As it stands in the file, default attributes filled in.
  const OnnxNode &node() const { return node_; }
  /// Makes the operators that the node becomes.
  Emitter &emitter() { return emitter_; }
  /// The version of the operator that the node means.
  int version() const { return node_.sinceVersion; }

  /// Inputs that are written down, left out or not.
  size_t numInputs() const { return inputs_.size(); }
  /// Whether input `i` is there and not left out.
  bool hasInput(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  /// hasInput(i) holds, or the schema requires the input.
  const Tensor &input(size_t i) const { return inputs_[i]; }
  /// Whether the inputs `wanted` are there, which no checker has looked at for
  /// an operator of ONNX Runtime's own; else fails.
  bool requireInputs(std::initializer_list<size_t> wanted);
  /// Whether input `i` is left out or has these dims; else fails.
  bool checkDims(size_t i, const rt::Dims &expected);
  /// Outputs that are written down, wanted or not.
  size_t numOutputs() const { return node_.outputs.size(); }
  /// Whether output `i` has a name, so that somebody may read it.
  bool wantsOutput(size_t i) const {
    return i < node_.outputs.size() && !node_.outputs[i].empty();
  }
  /// Says what output `i` is; one that the node does not have is dropped.
  void setResult(size_t i, Tensor tensor) {
    if (i < results_.size()) {
      results_[i] = std::move(tensor);
    }
  }
  /// By output; empty where setResult was not called.
  const std::vector<Tensor> &results() const { return results_; }

  /// The first failure wins. The message follows "node 'x' (Op): ".
  void fail(ExitCode code, const std::string &message) {
    emitter_.fail(code, message);
  }
  /// fail(ExitCode::Invalid): the model is wrong.
  void invalid(const std::string &message) { fail(ExitCode::Invalid, message); }
  /// fail(ExitCode::Unsupported): Divisi does not do that.
  void unsupported(const std::string &message) {
    fail(ExitCode::Unsupported, message);
  }
  /// Whether something has failed, here or in the emitter.
  bool failed() const { return !emitter_.status().isOk(); }

  /// Attributes, of the type that the schema says; `fallback` where the node
  /// has none and the schema no default.
  bool hasAttribute(const std::string &name) const;
  /// The attribute as a value of that type.
  int64_t getInt(const std::string &name, int64_t fallback = 0) const;
  /// The same of a float.
  double getFloat(const std::string &name, double fallback = 0) const;
  /// The same of a text.
  std::string getString(const std::string &name,
                        const std::string &fallback = "") const;
  /// The same of a list, which is empty without one.
  std::vector<int64_t> getInts(const std::string &name) const;
  /// The same of a list of floats.
  std::vector<double> getFloats(const std::string &name) const;

  /// Integers that are the attribute `name`, or since version `input` the
  /// constant input `index`; nothing if absent. Fails if it is no constant.
  std::optional<std::vector<int64_t>> intsFrom(const std::string &name,
                                               size_t index);
  /// Constant input `index`, from whose values shapes follow; fails if it is
  /// computed at run time. hasInput(index) holds.
  std::optional<rt::HostTensor> constantTensor(size_t index);
  /// The integers of constant input `index`; nothing if absent, and a failure
  /// if the input is computed at run time.
  std::optional<std::vector<int64_t>> constantInts(size_t index);
  /// The number in the one-element constant input `index`, likewise.
  std::optional<double> constantNumber(size_t index);

  /// `axis` in [0, rank); fails and returns 0 for one outside [-rank, rank).
  int64_t normalizeAxis(int64_t axis, int64_t rank);
  /// Each of `axes`, ascending; fails on a repeated one.
  std::vector<int64_t> normalizeAxes(const std::vector<int64_t> &axes,
                                     int64_t rank);

private:
  const OnnxNode &node_;
  Emitter &emitter_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> results_;
};

/// More steps than this, of a loop or a recurrent layer, are not written out as
/// operators: they are the body of an nn.loop.
inline constexpr int64_t kMostSteps = 512;

/// Imports the operator that it is written for.
using ImportFunction = void (*)(NodeImporter &node);

/// One operator.
struct ImporterRow {
  const char *opType;      ///< As ONNX spells it, behind a domain not its own.
  ImportFunction function; ///< Never null.
};

/// The tables, by family.
llvm::ArrayRef<ImporterRow> elementwiseImporters();
llvm::ArrayRef<ImporterRow> contractionImporters();
llvm::ArrayRef<ImporterRow> windowImporters();
llvm::ArrayRef<ImporterRow> poolImporters();
llvm::ArrayRef<ImporterRow> normalizeImporters();
llvm::ArrayRef<ImporterRow> movementImporters();
llvm::ArrayRef<ImporterRow> partImporters();
llvm::ArrayRef<ImporterRow> indexImporters();
llvm::ArrayRef<ImporterRow> shapeImporters();
llvm::ArrayRef<ImporterRow> orderImporters();
llvm::ArrayRef<ImporterRow> convTransposeImporters();
llvm::ArrayRef<ImporterRow> scatterImporters();
llvm::ArrayRef<ImporterRow> quantizeImporters();
llvm::ArrayRef<ImporterRow> runtimeImporters();
llvm::ArrayRef<ImporterRow> fusedImporters();
llvm::ArrayRef<ImporterRow> multiHeadImporters();
llvm::ArrayRef<ImporterRow> groupQueryImporters();
llvm::ArrayRef<ImporterRow> blockImporters();
llvm::ArrayRef<ImporterRow> dynamicImporters();
llvm::ArrayRef<ImporterRow> deformImporters();
llvm::ArrayRef<ImporterRow> randomImporters();
llvm::ArrayRef<ImporterRow> sequenceImporters();
llvm::ArrayRef<ImporterRow> suppressImporters();
llvm::ArrayRef<ImporterRow> attentionImporters();
llvm::ArrayRef<ImporterRow> resizeImporters();
llvm::ArrayRef<ImporterRow> recurrentImporters();
llvm::ArrayRef<ImporterRow> sampleImporters();
llvm::ArrayRef<ImporterRow> selectImporters();
llvm::ArrayRef<ImporterRow> signalImporters();
llvm::ArrayRef<ImporterRow> optimizerImporters();
/// Which of several rows are chosen, if only the run knows.
struct ChosenRows {
  Tensor places; ///< [n] i64: those chosen, in order, then zeros.
  Tensor count;  ///< How many are chosen: a scalar of i64.
};
/// Of `isChosen`, booleans [n].
ChosenRows chooseRows(Emitter &emit, const Tensor &isChosen);

/// A sequence of these tensors.
Tensor sequenceOf(std::vector<Tensor> elements);
/// Whether the operator may read a sequence of tensors.
bool takesSequences(const std::string &opType);
/// All of them: what is not in here is not found.
llvm::SmallVector<llvm::ArrayRef<ImporterRow>> importerTables();

/// The function for `opType`, or null.
ImportFunction findImporter(const std::string &opType);
/// Operators that are imported by the body that ONNX gives for them, because
/// the body is numerically sound; sorted.
llvm::ArrayRef<const char *> operatorsWithUsableBody();

/// The numpy product of `a` and `b`; fails if they do not match.
Tensor importProduct(NodeImporter &node, Tensor a, Tensor b);
/// alpha * A' * B' + beta * C, as a Gemm's attributes say.
Tensor importGemmProduct(NodeImporter &node);
/// The convolution of `x` by `w` that the node's attributes describe, without a
/// bias; fails if they do not fit.
Tensor importConvolution(NodeImporter &node, const Tensor &x, const Tensor &w);
/// Where a node has codes, their scale and their zero point, which may be left
/// out.
struct CodeInputs {
  size_t codes, scale, zero; ///< Numbers of inputs.
};
/// The numpy product of `a`, with one scale, and `b`, with one or one for each
/// column: a sum of integers, times the scales.
Tensor importScaledProduct(NodeImporter &node, CodeInputs a, CodeInputs b);
/// GridSample of a node with such attributes, or their defaults: linear, and
/// zeros around the image.
void importGridSample(NodeImporter &node);
/// The LSTM of a node with such attributes, whose inputs are in its order.
void importLSTM(NodeImporter &node);
/// The numbers that `x` stands for: (x - zero) * scale. Scale and zero point,
/// null for none, broadcast to `x`.
Tensor dequantizeBy(Emitter &emit, const Tensor &x, const Tensor &scale,
                    const Tensor &zero = nullptr);
/// The dims from `first` on, of a tensor of that rank.
std::vector<int64_t> axesFrom(int64_t first, int64_t rank);
/// `nn.normalize`: over `axes`, ascending, minus the mean if it is to `center`.
Tensor emitNormalize(Emitter &emit, const Tensor &x,
                     const std::vector<int64_t> &axes, bool center,
                     double epsilon);
/// The mean of the windows over `x` that the node's attributes describe; fails
/// if they do not fit.
Tensor importAverage(NodeImporter &node, const Tensor &x);
/// `x` with one number added to all of each channel (dim 1).
Tensor addChannelBias(NodeImporter &node, const Tensor &x, const Tensor &bias);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_NODEIMPORTER_H
