//===- ImportFused.cpp - What ONNX Runtime's optimizer fuses --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each becomes the operators that it was fused of; Divisi fuses by its own
// plan. SimplifiedLayerNormalization is written in ONNX's own domain, which
// does not have it.
//
//===----------------------------------------------------------------------===//

#include "RecurrentCell.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

/// `x` normalized over its last dim, times input `gamma`, plus input `beta` if
/// it is there.
static Tensor normalizeRows(NodeImporter &node, const Tensor &x, bool center,
                            double epsilon, size_t gamma, size_t beta) {
  Emitter &emit = node.emitter();
  if (x->rank() < 1 || !node.checkDims(gamma, {x->dims.back()}) ||
      !node.checkDims(beta, {x->dims.back()})) {
    node.invalid("it normalizes a scalar");
    return x;
  }
  Tensor result = emitNormalize(emit, x, {x->rank() - 1}, center,
                                node.getFloat("epsilon", epsilon));
  result = emit.binary("mul", result, node.input(gamma));
  return node.hasInput(beta) ? emit.binary("add", result, node.input(beta))
                             : result;
}

/// The input, what skips the layer before, and a bias: normalized, and their
/// sum.
static void importSkip(NodeImporter &node, bool center, size_t bias) {
  if (!node.requireInputs({0, 1, 2})) {
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  Tensor sum = emit.binary("add", x, node.input(1));
  if (node.hasInput(bias)) {
    sum = emit.binary("add", sum, node.input(bias));
  }
  if (!node.failed() && sum->dims != x->dims) {
    return node.invalid("skip or bias do not broadcast to the input");
  }
  size_t none = node.numInputs();
  if (!node.failed()) {
    node.setResult(
        0, normalizeRows(node, sum, center, 1e-12, 2, center ? 3 : none));
    node.setResult(3, sum);
  }
}

static void importSkipLayerNormalization(NodeImporter &node) {
  importSkip(node, /*center=*/true, 4);
}

static void importSkipSimplified(NodeImporter &node) {
  importSkip(node, /*center=*/false, 3);
}

/// By the root of the mean square of what is behind the axis.
static void importSimplified(NodeImporter &node) {
  if (!node.requireInputs({0, 1})) {
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), x->rank());
  if (node.failed()) {
    return;
  }
  Tensor result =
      emitNormalize(emit, x, axesFrom(axis, x->rank()), /*center=*/false,
                    node.getFloat("epsilon", 1e-5));
  // Half the precision, and weights of the whole: the result has theirs.
  const Tensor &scale = node.input(1);
  result = emit.binary("mul", emit.cast(result, scale->type), scale);
  if (!node.failed() && result->dims != x->dims) {
    return node.invalid("scale or bias do not broadcast to the input");
  }
  node.setResult(0, result);
}

/// Rows of input `table` at input `ids`.
static Tensor embedded(NodeImporter &node, size_t table, size_t ids) {
  return node.emitter().gather(node.input(table), node.input(ids), 0, 0);
}

/// The sum of embeddings of words, positions and segments, normalized; how many
/// words of each row are none of padding.
static void importEmbedLayerNormalization(NodeImporter &node) {
  if (!node.requireInputs({0, 2, 3, 5, 6})) {
    return;
  }
  Emitter &emit = node.emitter();
  const rt::Dims &ids = node.input(0)->dims;
  bool hasSegments = node.hasInput(1);
  if (ids.size() != 2 || node.input(2)->rank() != 2 ||
      node.input(3)->rank() != 2 ||
      (hasSegments && (!node.hasInput(4) || node.input(4)->rank() != 2))) {
    return node.invalid("it has words of shape " + formatInts(ids) +
                        " and embeddings that are not matrices");
  }
  Tensor sum = embedded(node, 2, 0);
  if (node.hasInput(8)) {
    sum = emit.binary("add", sum, embedded(node, 3, 8));
  } else if (node.input(3)->dims[0] < ids[1]) {
    return node.invalid("it has " + std::to_string(ids[1]) +
                        " positions, and embeddings of " +
                        std::to_string(node.input(3)->dims[0]));
  } else {
    sum = emit.binary("add", sum, emit.sliceAxis(node.input(3), 0, 0, ids[1]));
  }
  if (hasSegments && node.checkDims(1, ids)) {
    sum = emit.binary("add", sum, embedded(node, 4, 1));
  }
  if (node.failed()) {
    return;
  }
  node.setResult(0, normalizeRows(node, sum, /*center=*/true, 1e-12, 5, 6));
  node.setResult(2, sum);
  Tensor count = emit.expand(emit.scalar(DType::I32, 0), {ids[0]});
  if (node.hasInput(7) && node.checkDims(7, ids)) {
    Tensor one = emit.scalar(node.input(7)->type, 1);
    count = emit.reduce(
        "sum", emit.cast(emit.compare("eq", node.input(7), one), DType::I32),
        {1}, /*keepDims=*/false);
  }
  node.setResult(1, count);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// Gelu of input 0 and what is added to it.
static void importGeluOf(NodeImporter &node, const char *approximate) {
  if (!node.requireInputs({0})) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor x = node.input(0);
  if (node.hasInput(1)) {
    rt::Dims dims = x->dims;
    x = emit.binary("add", x, node.input(1));
    if (!node.failed() && x->dims != dims) {
      return node.invalid("skip or bias do not broadcast to the input");
    }
  }
  node.setResult(0, emit.emit("gelu", {x},
                              {{"approximate", std::string(approximate)}},
                              x->type, x->dims));
}

static void importExactGelu(NodeImporter &node) { importGeluOf(node, "none"); }

static void importFastGelu(NodeImporter &node) { importGeluOf(node, "tanh"); }

/// x * sigmoid(alpha * x)
static void importQuickGelu(NodeImporter &node) {
  if (!node.requireInputs({0})) {
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  double alpha = node.getFloat("alpha", 1.702);
  Tensor inner =
      alpha == 1 ? x : emit.binary("mul", x, emit.scalar(x->type, alpha));
  node.setResult(0, emit.binary("mul", x, emit.unary("sigmoid", inner)));
}

/// `x` activated as the node's attributes say: FusedConv has one list of
/// parameters, FusedGemm one attribute for each.
static Tensor activated(NodeImporter &node, const Tensor &x) {
  Emitter &emit = node.emitter();
  std::string name = node.getString("activation");
  std::vector<double> given = node.getFloats("activation_params");
  auto parameter = [&](size_t i, const char *attribute, double fallback) {
    return i < given.size() ? given[i] : node.getFloat(attribute, fallback);
  };
  if (name.empty()) {
    return x;
  }
  if (name == "Clip") {
    Tensor low = emit.scalar(x->type, parameter(0, "activation_alpha", 0));
    Tensor high = emit.scalar(x->type, parameter(1, "activation_beta", 0));
    return emit.binary("min", emit.binary("max", x, low), high);
  }
  auto known = findActivation(name);
  if (!known) {
    node.unsupported("its activation '" + name + "' is not supported yet");
    return x;
  }
  known->alpha = parameter(0, "activation_alpha", known->alpha);
  known->beta = parameter(1, "activation_beta", known->beta);
  return activate(emit, *known, x, /*clip=*/0);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Input `i` with its last two dims the rows and columns of a product. The
/// first of all dims can be the rows, in front of those of the batch.
static Tensor arranged(NodeImporter &node, size_t i, const char *matrix,
                       const char *batch) {
  Tensor x = node.input(i);
  int64_t rank = x->rank();
  Ints order(x->dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (node.getInt(batch) != 0 && rank > 2) {
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  }
  if (node.getInt(matrix) != 0 && rank > 1) {
    std::swap(order[order.size() - 2], order.back());
  }
  return node.emitter().transpose(x, order);
}

static void importFusedMatMul(NodeImporter &node) {
  if (!node.requireInputs({0, 1})) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor product =
      importProduct(node, arranged(node, 0, "transA", "transBatchA"),
                    arranged(node, 1, "transB", "transBatchB"));
  double alpha = node.getFloat("alpha", 1);
  if (!node.failed()) {
    node.setResult(0, alpha == 1
                          ? product
                          : emit.binary("mul", product,
                                        emit.scalar(product->type, alpha)));
  }
}

static void importFusedGemm(NodeImporter &node) {
  if (!node.requireInputs({0, 1})) {
    return;
  }
  Tensor product = importGemmProduct(node);
  if (!node.failed()) {
    node.setResult(0, activated(node, product));
  }
}

/// Conv, a bias, and what is added to it, activated.
static void importFusedConv(NodeImporter &node) {
  if (!node.requireInputs({0, 1})) {
    return;
  }
  Tensor result = importConvolution(node, node.input(0), node.input(1));
  if (!node.failed() && node.hasInput(2)) {
    result = addChannelBias(node, result, node.input(2));
  }
  if (!node.failed() && node.hasInput(3) && node.checkDims(3, result->dims)) {
    result = node.emitter().binary("add", result, node.input(3));
  }
  if (!node.failed()) {
    node.setResult(0, activated(node, result));
  }
}

llvm::ArrayRef<ImporterRow> divisi::fusedImporters() {
  static const ImporterRow kRows[] = {
      {"SimplifiedLayerNormalization", importSimplified},
      {"com.microsoft.BiasGelu", importExactGelu},
      {"com.microsoft.EmbedLayerNormalization", importEmbedLayerNormalization},
      {"com.microsoft.FastGelu", importFastGelu},
      {"com.microsoft.FusedConv", importFusedConv},
      {"com.microsoft.FusedGemm", importFusedGemm},
      {"com.microsoft.FusedMatMul", importFusedMatMul},
      {"com.microsoft.Gelu", importExactGelu},
      {"com.microsoft.QuickGelu", importQuickGelu},
      {"com.microsoft.SkipLayerNormalization", importSkipLayerNormalization},
      {"com.microsoft.SkipSimplifiedLayerNormalization", importSkipSimplified},
      {"com.microsoft.TransposeMatMul", importFusedMatMul},
  };
  return kRows;
}
