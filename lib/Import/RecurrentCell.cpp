//===- RecurrentCell.cpp - One step of a recurrent layer ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentCell.h"

#include <algorithm>
#include <cctype>

using namespace divisi;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {
struct ActivationRow {
  const char *name;
  bool hasAlpha, hasBeta;
  double alpha, beta; ///< Unless the node says others.
};
} // namespace

static constexpr ActivationRow kActivations[] = {
    {"affine", true, true, 1, 0},          {"elu", true, false, 1, 0},
    {"hardsigmoid", true, true, 0.2, 0.5}, {"leakyrelu", true, false, 0.01, 0},
    {"relu", false, false, 0, 0},          {"scaledtanh", true, true, 1, 1},
    {"sigmoid", false, false, 0, 0},       {"softsign", false, false, 0, 0},
    {"tanh", false, false, 0, 0},
};

static const ActivationRow *findRow(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const auto *row =
      std::find_if(std::begin(kActivations), std::end(kActivations),
                   [&](const ActivationRow &row) { return name == row.name; });
  return row == std::end(kActivations) ? nullptr : row;
}

std::optional<Activation> divisi::findActivation(std::string name) {
  const ActivationRow *row = findRow(std::move(name));
  return row ? std::optional(Activation{row->name, row->alpha, row->beta})
             : std::nullopt;
}

/// Alphas and betas stand in order, for those activations that take one.
std::vector<Activation> divisi::readActivations(NodeImporter &node,
                                                std::vector<std::string> names,
                                                size_t count) {
  auto it = node.node().attributes.find("activations");
  if (it != node.node().attributes.end()) {
    if (const auto *given =
            std::get_if<std::vector<std::string>>(&it->second.value)) {
      names = *given;
    }
  }
  // ONNX's default for an RNN has one for each of two directions.
  if (names.size() < count) {
    node.invalid("got " + std::to_string(names.size()) +
                 " activations, expected at least " + std::to_string(count));
    return {};
  }
  names.resize(count);
  std::vector<double> alphas = node.getFloats("activation_alpha"),
                      betas = node.getFloats("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0;
  std::vector<Activation> result;
  for (const std::string &name : names) {
    const ActivationRow *row = findRow(name);
    if (!row) {
      node.unsupported("its activation '" + name + "' is not supported yet");
      return {};
    }
    Activation one{row->name, row->alpha, row->beta};
    if (row->hasAlpha && nextAlpha < alphas.size()) {
      one.alpha = alphas[nextAlpha++];
    }
    if (row->hasBeta && nextBeta < betas.size()) {
      one.beta = betas[nextBeta++];
    }
    result.push_back(one);
  }
  return result;
}

/// a·x + b
static Tensor affine(Emitter &emit, const Tensor &x, double a, double b) {
  Tensor scaled = emit.binary("mul", x, emit.scalar(x->type, a));
  return emit.binary("add", scaled, emit.scalar(x->type, b));
}

Tensor divisi::activate(Emitter &emit, const Activation &f, Tensor x,
                        double clip) {
  auto number = [&](double value) { return emit.scalar(x->type, value); };
  if (clip > 0) {
    x = emit.binary("max", x, number(-clip));
    x = emit.binary("min", x, number(clip));
  }
  if (f.name == "affine") {
    return affine(emit, x, f.alpha, f.beta);
  }
  if (f.name == "hardsigmoid") {
    Tensor line = affine(emit, x, f.alpha, f.beta);
    return emit.binary("min", emit.binary("max", line, number(0)), number(1));
  }
  if (f.name == "scaledtanh") {
    Tensor inner = emit.binary("mul", x, number(f.beta));
    return emit.binary("mul", emit.unary("tanh", inner), number(f.alpha));
  }
  if (f.name == "softsign") {
    Tensor below = emit.binary("add", emit.unary("abs", x), number(1));
    return emit.binary("div", x, below);
  }
  if (f.name == "leakyrelu" || f.name == "elu") {
    Tensor low = x;
    if (f.name == "elu") {
      // Of what is positive the exponential may overflow; nobody reads it.
      Tensor power = emit.unary("exp", emit.binary("min", x, number(0)));
      low = emit.binary("sub", power, number(1));
    }
    low = emit.binary("mul", low, number(f.alpha));
    return emit.select(emit.compare("lt", x, number(0)), low, x);
  }
  return emit.unary(f.name, x); // tanh, sigmoid, relu
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

/// Gate `i` of `gates` [batch, gates, hidden].
static Tensor gateOf(Emitter &emit, const Tensor &gates, int64_t i) {
  rt::Dims dims = {gates->dims[0], gates->dims[2]};
  return emit.reshape(emit.sliceAxis(gates, 1, i, i + 1), dims);
}

/// Row `i` of `matrix`.
static Tensor rowOf(Emitter &emit, const Tensor &matrix, int64_t i) {
  return emit.reshape(emit.sliceAxis(matrix, 0, i, i + 1), {matrix->dims[1]});
}

/// state · Rᵀ as [batch, gates, hidden], of `gates` gates of `r` from `first`
/// on.
static Tensor recur(Emitter &emit, const RecurrentLayer &layer,
                    const Tensor &state, const Tensor &r, int64_t first,
                    int64_t gates) {
  Tensor part = emit.sliceAxis(r, 0, first * layer.hidden,
                               (first + gates) * layer.hidden);
  return emit.reshape(emit.matmul(state, part, "bk,gk->bg"),
                      {layer.batch, gates, layer.hidden});
}

static RecurrentState stepRNN(Emitter &emit, const RecurrentLayer &layer,
                              const RecurrentWeights &weights,
                              const Tensor &gates,
                              const RecurrentState &before) {
  Tensor sum =
      emit.binary("add", gates, recur(emit, layer, before.h, weights.r, 0, 1));
  return {
      activate(emit, weights.activations[0], gateOf(emit, sum, 0), layer.clip),
      nullptr};
}

/// Gates z, r, h. The bias of h stays inside where r comes after the product.
static RecurrentState stepGRU(Emitter &emit, const RecurrentLayer &layer,
                              const RecurrentWeights &weights,
                              const Tensor &gates,
                              const RecurrentState &before) {
  const Activation &f = weights.activations[0], &g = weights.activations[1];
  Tensor zr = emit.binary("add", emit.sliceAxis(gates, 1, 0, 2),
                          recur(emit, layer, before.h, weights.r, 0, 2));
  Tensor z = activate(emit, f, gateOf(emit, zr, 0), layer.clip);
  Tensor r = activate(emit, f, gateOf(emit, zr, 1), layer.clip);
  Tensor inner;
  if (weights.recurrenceBias) {
    Tensor product = recur(emit, layer, before.h, weights.r, 2, 1);
    inner = emit.binary("add", gateOf(emit, product, 0),
                        rowOf(emit, weights.recurrenceBias, 2));
    inner = emit.binary("mul", r, inner);
  } else {
    Tensor kept = emit.binary("mul", r, before.h);
    inner = gateOf(emit, recur(emit, layer, kept, weights.r, 2, 1), 0);
  }
  Tensor fresh = activate(
      emit, g, emit.binary("add", gateOf(emit, gates, 2), inner), layer.clip);
  Tensor one = emit.scalar(fresh->type, 1);
  fresh = emit.binary("mul", emit.binary("sub", one, z), fresh);
  return {emit.binary("add", fresh, emit.binary("mul", z, before.h)), nullptr};
}

/// Gates i, o, f, c; the output gate looks at the new cell.
static RecurrentState stepLSTM(Emitter &emit, const RecurrentLayer &layer,
                               const RecurrentWeights &weights,
                               const Tensor &gates,
                               const RecurrentState &before, bool couples) {
  const Activation &f = weights.activations[0], &g = weights.activations[1],
                   &h = weights.activations[2];
  Tensor sum =
      emit.binary("add", gates, recur(emit, layer, before.h, weights.r, 0, 4));
  auto gate = [&](int64_t i, const Tensor &cell, int64_t peephole) {
    Tensor value = gateOf(emit, sum, i);
    if (weights.peepholes) {
      Tensor seen =
          emit.binary("mul", rowOf(emit, weights.peepholes, peephole), cell);
      value = emit.binary("add", value, seen);
    }
    return activate(emit, f, value, layer.clip);
  };
  Tensor in = gate(0, before.c, 0);
  Tensor keep = couples ? emit.binary("sub", emit.scalar(in->type, 1), in)
                        : gate(2, before.c, 2);
  Tensor fresh = activate(emit, g, gateOf(emit, sum, 3), layer.clip);
  Tensor cell = emit.binary("add", emit.binary("mul", keep, before.c),
                            emit.binary("mul", in, fresh));
  Tensor out = gate(1, cell, 1);
  return {emit.binary("mul", out, activate(emit, h, cell, /*clip=*/0)), cell};
}

RecurrentState divisi::recurrentStep(NodeImporter &node,
                                     const RecurrentLayer &layer,
                                     const RecurrentWeights &weights,
                                     const Tensor &gates,
                                     const RecurrentState &before) {
  Emitter &emit = node.emitter();
  switch (layer.gates) {
  case 1:
    return stepRNN(emit, layer, weights, gates, before);
  case 3:
    return stepGRU(emit, layer, weights, gates, before);
  default:
    return stepLSTM(emit, layer, weights, gates, before,
                    node.getInt("input_forget") != 0);
  }
}
