//===- ImportDynamic.cpp - Weights in codes, activations in floats --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ONNX Runtime's dynamic quantization and its optimizer write: products of
// integers whose result is a float. Scales of activations are known at run
// time.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <numeric>

using namespace divisi;
using rt::DType;

/// Codes in i32 without their zero point.
static Tensor centred(Emitter &emit, const Tensor &codes, const Tensor &zero) {
  Tensor x = emit.cast(codes, DType::I32);
  return zero ? emit.binary("sub", x, emit.cast(zero, DType::I32)) : x;
}

Tensor divisi::importScaledProduct(NodeImporter &node, CodeInputs a,
                                   CodeInputs b) {
  Emitter &emit = node.emitter();
  auto zero = [&](const CodeInputs &x) {
    return node.hasInput(x.zero) ? node.input(x.zero) : nullptr;
  };
  Tensor left = centred(emit, node.input(a.codes), zero(a));
  Tensor right = centred(emit, node.input(b.codes), zero(b));
  Tensor sum = node.failed() ? left : importProduct(node, left, right);
  Tensor scale = emit.binary("mul", node.input(a.scale), node.input(b.scale));
  return node.failed() ? sum
                       : emit.binary("mul", emit.cast(sum, scale->type), scale);
}

/// Gives `product`, and what input `i` adds to it.
static void giveBiased(NodeImporter &node, Tensor product, size_t i) {
  if (!node.failed() && node.hasInput(i)) {
    product = node.emitter().binary("add", product, node.input(i));
  }
  if (!node.failed()) {
    node.setResult(0, product);
  }
}

static void importMatMulIntegerToFloat(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2, 3})) {
    return;
  }
  if (node.input(2)->count() != 1) {
    return node.unsupported("its first operand has " +
                            std::to_string(node.input(2)->count()) +
                            " scales, expected one; ONNX Runtime takes no "
                            "more");
  }
  giveBiased(node, importScaledProduct(node, {0, 2, 4}, {1, 3, 5}), 6);
}

/// Input 0 as u8 by the range of its own numbers, and 0.
static std::vector<Tensor> quantizedByRange(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  std::vector<int64_t> axes(x->dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  auto number = [&](double value) { return emit.scalar(DType::F32, value); };
  auto bound = [&](const char *kind) {
    return emit.binary(kind, emit.reduce(kind, x, axes, /*keepDims=*/false),
                       number(0));
  };
  Tensor low = bound("min"), high = bound("max");
  Tensor scale = emit.binary("div", emit.binary("sub", high, low), number(255));
  // Of zeros alone any scale is right.
  scale = emit.select(emit.compare("eq", high, low), number(1), scale);
  Tensor zero =
      emit.unary("round", emit.unary("neg", emit.binary("div", low, scale)));
  zero = emit.binary("min", emit.binary("max", zero, number(0)), number(255));
  zero = emit.cast(zero, DType::U8);
  rt::Dims one(x->dims.size(), 1);
  Tensor codes = emit.emit(
      "quantize", {x, emit.reshape(scale, one), emit.reshape(zero, one)},
      {{"axis", int64_t(0)}, {"block", int64_t(1)}}, DType::U8, x->dims);
  return {codes, scale, zero};
}

static void importDynamicQuantizeMatMul(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2})) {
    return;
  }
  if (node.input(0)->type != DType::F32) {
    return node.invalid("its first operand has elements of " +
                        std::string(rt::stringify(node.input(0)->type)) +
                        ", expected f32");
  }
  std::vector<Tensor> a = quantizedByRange(node);
  std::vector<Tensor> inputs = {a[0], node.input(1), a[1], node.input(2), a[2]};
  if (node.hasInput(3)) {
    inputs.push_back(node.input(3));
  }
  NodeImporter product(node.node(), node.emitter(), inputs);
  if (!node.failed()) {
    giveBiased(node, importScaledProduct(product, {0, 2, 4}, {1, 3, 5}), 4);
  }
}

/// Weights [directions, input, gates] with a scale and zero point for each
/// direction, or for each of its gates, as LSTM has them, in numbers.
static Tensor recurrentWeights(NodeImporter &node, size_t i, size_t scale) {
  Emitter &emit = node.emitter();
  const Tensor &codes = node.input(i);
  auto aligned = [&](const Tensor &given) {
    if (given->rank() < 1 || given->rank() > 2) {
      node.invalid("a scale or zero point of shape " + formatInts(given->dims) +
                   " does not fit " + formatInts(codes->dims));
      return given;
    }
    int64_t gates = given->rank() == 2 ? given->dims[1] : 1;
    return emit.reshape(given, {given->dims[0], 1, gates});
  };
  if (codes->rank() != 3) {
    node.invalid("input " + std::to_string(i) + " has the shape " +
                 formatInts(codes->dims) + ", expected three dims");
    return codes;
  }
  Tensor scales = aligned(node.input(scale));
  Tensor zeros = aligned(node.input(scale + 1));
  return node.failed()
             ? codes
             : emit.transpose(dequantizeBy(emit, codes, scales, zeros),
                              {0, 2, 1});
}

/// What it computes with is what the weights stand for: the input and the state
/// are not quantized in each step, from which ONNX Runtime's result differs by
/// what it rounds.
static void importDynamicQuantizeLSTM(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2, 8, 9, 10, 11})) {
    return;
  }
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < 8; ++i) {
    inputs.push_back(node.hasInput(i) ? node.input(i) : nullptr);
  }
  inputs[1] = recurrentWeights(node, 1, 8);
  inputs[2] = recurrentWeights(node, 2, 10);
  if (node.failed()) {
    return;
  }
  NodeImporter layer(node.node(), node.emitter(), inputs);
  importLSTM(layer);
  for (size_t i = 0; i < layer.results().size(); ++i) {
    node.setResult(i, layer.results()[i]);
  }
}

llvm::ArrayRef<ImporterRow> divisi::dynamicImporters() {
  static const ImporterRow kRows[] = {
      {"com.microsoft.DynamicQuantizeLSTM", importDynamicQuantizeLSTM},
      {"com.microsoft.DynamicQuantizeMatMul", importDynamicQuantizeMatMul},
      {"com.microsoft.MatMulIntegerToFloat", importMatMulIntegerToFloat},
  };
  return kRows;
}
