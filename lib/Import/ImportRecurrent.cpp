//===- ImportRecurrent.cpp - Import of recurrent layers -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What does not depend on the state, the product of the whole sequence with W,
// is one operator. The steps are products with the state and elementwise
// operators: written out where there are few, else the body of an nn.loop,
// which puts the state in its row of all states. For a GRU:
//
//   gates[t, b, g, h] = x·W + biases             once
//   z = f(gates[t, .., 0] + state·R[0]) …        in each step
//
//===----------------------------------------------------------------------===//

#include "RecurrentCell.h"

using namespace divisi;
using rt::DType;

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// Entry `d` of the first dim of input `i`; null if it is left out.
static Tensor ofDirection(NodeImporter &node, size_t i, int64_t d) {
  if (!node.hasInput(i)) {
    return nullptr;
  }
  const Tensor &all = node.input(i);
  rt::Dims dims(all->dims.begin() + 1, all->dims.end());
  return node.emitter().reshape(node.emitter().sliceAxis(all, 0, d, d + 1),
                                dims);
}

/// x·W and all biases that can be added at once: [steps, batch, gates, hidden].
static Tensor gatesOf(NodeImporter &node, const RecurrentLayer &layer,
                      int64_t d, RecurrentWeights &weights) {
  Emitter &emit = node.emitter();
  Tensor gates = emit.matmul(layer.x, ofDirection(node, 1, d), "tbi,gi->tbg");
  gates = emit.reshape(gates,
                       {layer.steps, layer.batch, layer.gates, layer.hidden});
  if (!node.hasInput(3)) {
    return gates;
  }
  Tensor bias =
      emit.reshape(ofDirection(node, 3, d), {2, layer.gates, layer.hidden});
  auto half = [&](int64_t i) {
    return emit.reshape(emit.sliceAxis(bias, 0, i, i + 1),
                        {layer.gates, layer.hidden});
  };
  gates = emit.binary("add", gates, half(0));
  Tensor inner = half(1);
  if (layer.gates == 3 && node.getInt("linear_before_reset") != 0) {
    weights.recurrenceBias = inner;
    // Of z and r nothing is in the way.
    Tensor both = emit.sliceAxis(inner, 0, 0, 2);
    inner = emit.concat(
        {both, emit.expand(emit.scalar(bias->type, 0), {1, layer.hidden})}, 0);
  }
  return emit.binary("add", gates, inner);
}

/// The weights of direction `d`, and what of its gates does not depend on the
/// state.
static RecurrentWeights readWeights(NodeImporter &node,
                                    const RecurrentLayer &layer, int64_t d,
                                    Tensor &gates) {
  Emitter &emit = node.emitter();
  RecurrentWeights weights;
  size_t count = layer.activations.size() / size_t(layer.directions);
  weights.activations =
      llvm::ArrayRef(layer.activations).slice(size_t(d) * count, count);
  weights.r = ofDirection(node, 2, d);
  if (layer.gates == 4 && node.hasInput(7)) {
    weights.peepholes =
        emit.reshape(ofDirection(node, 7, d), {3, layer.hidden});
  }
  gates = gatesOf(node, layer, d, weights);
  if (layer.gates == 3 && node.getInt("linear_before_reset") != 0 &&
      !weights.recurrenceBias) {
    weights.recurrenceBias =
        emit.expand(emit.scalar(layer.x->type, 0), {layer.gates, layer.hidden});
  }
  return weights;
}

/// The step at `t`, a scalar of i64, of which `now` are the gates: changes
/// `state` and returns what the layer shows.
static Tensor runStep(NodeImporter &node, const RecurrentLayer &layer,
                      const RecurrentWeights &weights, const Tensor &now,
                      const Tensor &t, RecurrentState &state) {
  Emitter &emit = node.emitter();
  RecurrentState next = recurrentStep(node, layer, weights, now, state);
  Tensor shown = next.h;
  if (layer.lengths) {
    // A row that has ended keeps its state and shows zeros.
    Tensor goesOn =
        emit.compare("gt", emit.reshape(layer.lengths, {layer.batch, 1}), t);
    shown = emit.select(goesOn, next.h, emit.scalar(layer.x->type, 0));
    next.h = emit.select(goesOn, next.h, state.h);
    next.c = next.c ? emit.select(goesOn, next.c, state.c) : nullptr;
  }
  state = next;
  return shown;
}

/// All steps, each as operators of its own.
static Tensor writeSteps(NodeImporter &node, const RecurrentLayer &layer,
                         const RecurrentWeights &weights, const Tensor &gates,
                         bool reversed, RecurrentState &state) {
  Emitter &emit = node.emitter();
  std::vector<Tensor> states(static_cast<size_t>(layer.steps));
  for (int64_t i = 0; i < layer.steps && !node.failed(); ++i) {
    int64_t t = reversed ? layer.steps - 1 - i : i;
    Tensor now = emit.reshape(emit.sliceAxis(gates, 0, t, t + 1),
                              {layer.batch, layer.gates, layer.hidden});
    Tensor at = emit.integer(t);
    Tensor shown = runStep(node, layer, weights, now, at, state);
    states[size_t(t)] = emit.reshape(shown, {1, layer.batch, layer.hidden});
  }
  return node.failed() ? emit.scalar(layer.x->type, 0) : emit.concat(states, 0);
}

/// All steps, as a loop.
static Tensor loopSteps(NodeImporter &node, const RecurrentLayer &layer,
                        const RecurrentWeights &weights, const Tensor &gates,
                        bool reversed, RecurrentState &state) {
  Emitter &emit = node.emitter();
  rt::DType type = layer.x->type;
  rt::Dims dims = {layer.batch, layer.hidden}, all = dims;
  all.insert(all.begin(), layer.steps);
  emit.beginBody(emit.nodeName() + "/step");
  Tensor index = emit.bodyArgument(DType::I64, {});
  RecurrentState inner = {emit.bodyArgument(type, dims),
                          state.c ? emit.bodyArgument(type, dims) : nullptr};
  Tensor stack = emit.bodyArgument(type, all);
  Tensor t = reversed ? emit.binary("sub", emit.integer(layer.steps - 1), index)
                      : index;
  Tensor shown =
      runStep(node, layer, weights, emit.gather(gates, t, 0, 0), t, inner);
  stack = emit.insertRow(stack, shown, t, 0);
  std::vector<Tensor> given = {inner.h}, carried = {state.h};
  if (state.c) {
    given.push_back(inner.c);
    carried.push_back(state.c);
  }
  given.push_back(stack);
  ImportedBody body = emit.endBody(std::move(given));
  if (!body.function) {
    return stack;
  }
  carried.push_back(emit.expand(emit.scalar(type, 0), all));
  std::vector<Tensor> results =
      emit.loop(body, emit.integer(layer.steps), layer.steps, carried);
  state.h = results[0];
  state.c = state.c ? results[1] : nullptr;
  return results.back();
}

/// All steps of direction `d`, backwards if `reversed`: the states [steps,
/// batch, hidden], and the last one.
static Tensor runDirection(NodeImporter &node, const RecurrentLayer &layer,
                           int64_t d, bool reversed, RecurrentState &state) {
  Tensor gates;
  RecurrentWeights weights = readWeights(node, layer, d, gates);
  auto run = layer.steps > kMostSteps ? loopSteps : writeSteps;
  return run(node, layer, weights, gates, reversed, state);
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

/// The lengths, unless all are constants and the whole sequence.
static Tensor readLengths(NodeImporter &node, const RecurrentLayer &layer) {
  if (!node.hasInput(4)) {
    return nullptr;
  }
  const Tensor &lengths = node.input(4);
  auto known =
      lengths->isFoldable() ? node.emitter().bytesOf(lengths) : std::nullopt;
  bool isWhole = known.has_value();
  for (int64_t i = 0; known && i < known->count(); ++i) {
    isWhole &= known->intAt(i) == layer.steps;
  }
  return isWhole ? nullptr : node.emitter().cast(lengths, DType::I64);
}

/// Reads the node but for its weights, whose shapes it checks.
static RecurrentLayer readLayer(NodeImporter &node, int64_t gates,
                                bool isBatchFirst) {
  RecurrentLayer layer;
  layer.gates = gates;
  layer.x = node.input(0);
  const Tensor &r = node.input(2);
  if (layer.x->rank() != 3 || r->rank() != 3 || r->dims[2] < 1) {
    node.invalid("got X of rank " + std::to_string(layer.x->rank()) +
                 " and R of shape " + formatInts(r->dims) +
                 ", expected rank 3 of both");
    return layer;
  }
  if (isBatchFirst) {
    layer.x = node.emitter().transpose(layer.x, {1, 0, 2});
  }
  layer.steps = layer.x->dims[0];
  layer.batch = layer.x->dims[1];
  layer.hidden = r->dims[2];
  bool isBoth = node.getString("direction", "forward") == "bidirectional";
  layer.directions = isBoth ? 2 : 1;
  layer.clip = node.getFloat("clip", 0);
  if (layer.steps < 1) {
    node.unsupported("its sequence has no steps");
    return layer;
  }
  int64_t d = layer.directions, width = gates * layer.hidden;
  rt::Dims state = isBatchFirst ? rt::Dims{layer.batch, d, layer.hidden}
                                : rt::Dims{d, layer.batch, layer.hidden};
  if (node.checkDims(1, {d, width, layer.x->dims[2]}) &&
      node.checkDims(2, {d, width, layer.hidden}) &&
      node.checkDims(3, {d, 2 * width}) && node.checkDims(4, {layer.batch}) &&
      node.checkDims(5, state) && gates == 4 && node.checkDims(6, state)) {
    node.checkDims(7, {d, 3 * layer.hidden});
  }
  if (!node.failed()) {
    layer.lengths = readLengths(node, layer);
  }
  return layer;
}

/// The first state of direction `d`, which is input `i` or zeros.
static Tensor firstState(NodeImporter &node, const RecurrentLayer &layer,
                         size_t i, int64_t d, bool isBatchFirst) {
  Emitter &emit = node.emitter();
  rt::Dims dims = {layer.batch, layer.hidden};
  if (!node.hasInput(i)) {
    return emit.expand(emit.scalar(layer.x->type, 0), dims);
  }
  return emit.reshape(
      emit.sliceAxis(node.input(i), isBatchFirst ? 1 : 0, d, d + 1), dims);
}

static void importLayer(NodeImporter &node, int64_t gates,
                        const std::vector<std::string> &activations) {
  Emitter &emit = node.emitter();
  bool isBatchFirst = node.getInt("layout") != 0;
  RecurrentLayer layer = readLayer(node, gates, isBatchFirst);
  if (node.failed()) {
    return;
  }
  std::vector<std::string> names;
  for (int64_t d = 0; d < layer.directions; ++d) {
    names.insert(names.end(), activations.begin(), activations.end());
  }
  layer.activations = readActivations(node, names, names.size());
  std::vector<Tensor> all, lastH, lastC;
  std::string direction = node.getString("direction", "forward");
  for (int64_t d = 0; d < layer.directions && !node.failed(); ++d) {
    RecurrentState state = {
        firstState(node, layer, 5, d, isBatchFirst),
        gates == 4 ? firstState(node, layer, 6, d, isBatchFirst) : nullptr};
    Tensor states =
        runDirection(node, layer, d, d == 1 || direction == "reverse", state);
    if (node.failed()) {
      return;
    }
    rt::Dims last = {1, layer.batch, layer.hidden};
    all.push_back(
        emit.reshape(states, {layer.steps, 1, layer.batch, layer.hidden}));
    lastH.push_back(emit.reshape(state.h, last));
    if (state.c) {
      lastC.push_back(emit.reshape(state.c, last));
    }
  }
  if (node.failed()) {
    return;
  }
  auto turn = [&](const Tensor &x, const std::vector<int64_t> &permutation) {
    return isBatchFirst ? emit.transpose(x, permutation) : x;
  };
  node.setResult(0, turn(emit.concat(all, 1), {2, 0, 1, 3}));
  node.setResult(1, turn(emit.concat(lastH, 0), {1, 0, 2}));
  if (!lastC.empty()) {
    node.setResult(2, turn(emit.concat(lastC, 0), {1, 0, 2}));
  }
}

static void importRNN(NodeImporter &node) { importLayer(node, 1, {"tanh"}); }

static void importGRU(NodeImporter &node) {
  importLayer(node, 3, {"sigmoid", "tanh"});
}

void divisi::importLSTM(NodeImporter &node) {
  importLayer(node, 4, {"sigmoid", "tanh", "tanh"});
}

llvm::ArrayRef<ImporterRow> divisi::recurrentImporters() {
  static const ImporterRow kRows[] = {
      {"GRU", importGRU}, {"LSTM", importLSTM}, {"RNN", importRNN}};
  return kRows;
}
