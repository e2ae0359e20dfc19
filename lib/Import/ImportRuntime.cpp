//===- ImportRuntime.cpp - Operators of ONNX Runtime's own ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Its quantizer writes models in which every operator takes and gives quantized
// numbers, each tensor with its scale and zero point behind it:
//
//   QLinearAdd(a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero)
//
// What ONNX has no operator for is of the domain com.microsoft. Products are
// summed in i32, as those of QLinearMatMul are; all else is computed in f32.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using rt::DType;

/// Input `i` without its zero point, input `i + 2`, in `type`.
static Tensor withoutZero(NodeImporter &node, size_t i, DType type) {
  Emitter &emit = node.emitter();
  Tensor x = emit.cast(node.input(i), type);
  return node.hasInput(i + 2)
             ? emit.binary("sub", x, emit.cast(node.input(i + 2), type))
             : x;
}

/// The numbers that input `i`, of one scale, stands for.
static Tensor dequantized(NodeImporter &node, size_t i) {
  const Tensor &x = node.input(i), &scale = node.input(i + 1);
  const Tensor zero = node.hasInput(i + 2) ? node.input(i + 2) : nullptr;
  if ((x->type == DType::I8 || x->type == DType::U8) && scale->count() == 1 &&
      scale->rank() <= x->rank() && scale->type == DType::F32 &&
      (!zero || (zero->count() == 1 && zero->type == x->type &&
                 zero->rank() <= x->rank()))) {
    return dequantizeBy(node.emitter(), x, scale, zero);
  }
  return node.emitter().binary("mul", withoutZero(node, i, DType::F32),
                               node.input(i + 1));
}

/// Gives `value` as inputs `scale` and `scale + 1` say.
static void giveQuantized(NodeImporter &node, const Tensor &value,
                          size_t scale) {
  Emitter &emit = node.emitter();
  for (size_t i : {scale, scale + 1}) {
    if (node.hasInput(i) && node.input(i)->count() != 1) {
      return node.invalid("its result has a scale or zero point of shape " +
                          formatInts(node.input(i)->dims) +
                          ", expected one number");
    }
  }
  rt::Dims one(value->dims.size(), 1);
  std::vector<Tensor> operands = {value, emit.reshape(node.input(scale), one)};
  DType type = DType::U8;
  if (node.hasInput(scale + 1)) {
    operands.push_back(emit.reshape(node.input(scale + 1), one));
    type = operands.back()->type;
  }
  if (!node.failed()) {
    node.setResult(0, emit.emit("quantize", operands,
                                {{"axis", int64_t(0)}, {"block", int64_t(1)}},
                                type, value->dims));
  }
}

static void importQLinearBinary(NodeImporter &node, const std::string &op) {
  if (!node.requireInputs({0, 1, 3, 4, 6})) {
    return;
  }
  giveQuantized(
      node,
      node.emitter().binary(op, dequantized(node, 0), dequantized(node, 3)), 6);
}

static void importQLinearAdd(NodeImporter &node) {
  importQLinearBinary(node, "add");
}

static void importQLinearMul(NodeImporter &node) {
  importQLinearBinary(node, "mul");
}

static void importQLinearSigmoid(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 3})) {
    return;
  }
  giveQuantized(node, node.emitter().unary("sigmoid", dequantized(node, 0)), 3);
}

static void importQLinearLeakyRelu(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 3})) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor x = dequantized(node, 0);
  Tensor slope = emit.scalar(DType::F32, node.getFloat("alpha", 0.01));
  Tensor isPositive = emit.compare("gt", x, emit.scalar(DType::F32, 0));
  giveQuantized(node, emit.select(isPositive, x, emit.binary("mul", x, slope)),
                3);
}

/// Of models before opset 13 over all dims from the axis on.
static void importQLinearSoftmax(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 3})) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor x = dequantized(node, 0);
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), x->rank());
  if (node.failed()) {
    return;
  }
  rt::Dims dims = x->dims;
  if (node.getInt("opset") < 13) {
    int64_t rows = 1, columns = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      (static_cast<int64_t>(i) < axis ? rows : columns) *= dims[i];
    }
    x = emit.reshape(x, {rows, columns});
    axis = 1;
  }
  Tensor y = emit.emit("softmax", {x}, {{"axis", axis}, {"log", int64_t(0)}},
                       DType::F32, x->dims);
  giveQuantized(node, emit.reshape(y, dims), 3);
}

/// `x` with the channels behind the batch instead of last, or the reverse.
static Tensor moveChannels(NodeImporter &node, const Tensor &x, bool toFront) {
  std::vector<int64_t> order(x->dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() > 2) {
    auto second = order.begin() + 1;
    std::rotate(second, toFront ? order.end() - 1 : second + 1, order.end());
  }
  return node.emitter().transpose(x, order);
}

/// Gives what `pool` makes of the numbers that input 0 stands for, with the
/// channels behind the batch while it does.
template <typename Pool>
static void importQLinearPool(NodeImporter &node, Pool pool) {
  if (!node.requireInputs({0, 1, 3})) {
    return;
  }
  bool isLast = node.getInt("channels_last") != 0;
  Tensor x = dequantized(node, 0);
  Tensor y = pool(isLast ? moveChannels(node, x, /*toFront=*/true) : x);
  if (!node.failed()) {
    giveQuantized(node, isLast ? moveChannels(node, y, /*toFront=*/false) : y,
                  3);
  }
}

/// The operator `name` of ONNX, of an image whose channels are last.
static void importChannelsLast(NodeImporter &node, const char *name) {
  std::vector<Tensor> inputs = {
      moveChannels(node, node.input(0), /*toFront=*/true)};
  for (size_t i = 1; i < node.numInputs(); ++i) {
    inputs.push_back(node.hasInput(i) ? node.input(i) : nullptr);
  }
  NodeImporter inner(node.node(), node.emitter(), inputs);
  findImporter(name)(inner);
  if (!node.failed()) {
    node.setResult(0,
                   moveChannels(node, inner.results()[0], /*toFront=*/false));
  }
}

/// Of quantized images its optimizer puts the channels last.
static void importRuntimeQLinearConv(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2, 3, 4, 5, 6, 7})) {
    return;
  }
  if (node.getInt("channels_last") != 0) {
    return importChannelsLast(node, "QLinearConv");
  }
  findImporter("QLinearConv")(node);
}

static void importNhwcMaxPool(NodeImporter &node) {
  if (node.requireInputs({0})) {
    importChannelsLast(node, "MaxPool");
  }
}

/// The mean over all dims behind the channels.
static void importQLinearGlobalAveragePool(NodeImporter &node) {
  importQLinearPool(node, [&](const Tensor &x) {
    std::vector<int64_t> axes;
    for (int64_t axis = 2; axis < x->rank(); ++axis) {
      axes.push_back(axis);
    }
    return node.emitter().mean(x, axes);
  });
}

static void importQLinearAveragePool(NodeImporter &node) {
  importQLinearPool(node,
                    [&](const Tensor &x) { return importAverage(node, x); });
}

static void importQLinearReduceMean(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 3})) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor x = dequantized(node, 0);
  std::vector<int64_t> axes =
      node.normalizeAxes(node.getInts("axes"), x->rank());
  if (node.failed()) {
    return;
  }
  Tensor y = emit.mean(x, axes);
  rt::Dims dims;
  for (int64_t i = 0; i < x->rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      dims.push_back(x->dims[static_cast<size_t>(i)]);
    }
  }
  giveQuantized(node,
                node.getInt("keepdims", 1) != 0 ? y : emit.reshape(y, dims), 3);
}

/// condition, then two tensors with scale and zero point each.
static void importQLinearWhere(NodeImporter &node) {
  if (node.requireInputs({0, 1, 2, 4, 5, 7})) {
    giveQuantized(node,
                  node.emitter().select(node.input(0), dequantized(node, 1),
                                        dequantized(node, 4)),
                  7);
  }
}

/// y_scale, y_zero, then each tensor with its scale and zero point.
static void importQLinearConcat(NodeImporter &node) {
  if (!node.requireInputs({0, 2})) {
    return;
  }
  std::vector<Tensor> parts;
  for (size_t i = 2; i < node.numInputs(); i += 3) {
    if (!node.requireInputs({i, i + 1})) {
      return;
    }
    parts.push_back(dequantized(node, i));
  }
  int64_t axis = node.normalizeAxis(node.getInt("axis"), parts.front()->rank());
  if (!node.failed()) {
    giveQuantized(node, node.emitter().concat(parts, axis), 0);
  }
}

/// A zero point or scale for each column of B as one that broadcasts to it.
static Tensor perColumn(NodeImporter &node, const Tensor &given) {
  bool isTransposed = node.getInt("transB") != 0;
  return given->rank() == 1 && isTransposed
             ? node.emitter().reshape(given, {given->dims[0], 1})
             : given;
}

/// alpha * A * B + C, C in the product of the scales; quantized if inputs 7 and
/// 8 say how.
static void importQGemm(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 3, 4})) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor b = emit.cast(node.input(3), DType::I32);
  if (node.hasInput(5)) {
    b = emit.binary("sub", b,
                    emit.cast(perColumn(node, node.input(5)), DType::I32));
  }
  if (node.input(0)->rank() != 2 || b->rank() != 2) {
    return node.invalid("its operands are not matrices");
  }
  std::string labels = node.getInt("transA") != 0 ? "km," : "mk,";
  labels += node.getInt("transB") != 0 ? "nk->mn" : "kn->mn";
  Tensor sum = emit.matmul(withoutZero(node, 0, DType::I32), b, labels);
  if (node.hasInput(6) && !node.failed()) {
    sum = emit.binary("add", sum, node.input(6));
  }
  if (node.failed()) {
    return;
  }
  Tensor scale = emit.binary("mul", node.input(1), node.input(4));
  Tensor alpha = emit.scalar(DType::F32, node.getFloat("alpha", 1));
  Tensor value = emit.binary("mul", emit.cast(sum, DType::F32),
                             emit.binary("mul", scale, alpha));
  if (node.hasInput(7)) {
    giveQuantized(node, value, 7);
  } else {
    node.setResult(0, value);
  }
}

llvm::ArrayRef<ImporterRow> divisi::runtimeImporters() {
  static const ImporterRow kRows[] = {
      {"com.microsoft.NhwcMaxPool", importNhwcMaxPool},
      {"com.microsoft.QGemm", importQGemm},
      {"com.microsoft.QLinearAdd", importQLinearAdd},
      {"com.microsoft.QLinearAveragePool", importQLinearAveragePool},
      {"com.microsoft.QLinearConcat", importQLinearConcat},
      {"com.microsoft.QLinearConv", importRuntimeQLinearConv},
      {"com.microsoft.QLinearGlobalAveragePool",
       importQLinearGlobalAveragePool},
      {"com.microsoft.QLinearLeakyRelu", importQLinearLeakyRelu},
      {"com.microsoft.QLinearMul", importQLinearMul},
      {"com.microsoft.QLinearReduceMean", importQLinearReduceMean},
      {"com.microsoft.QLinearSigmoid", importQLinearSigmoid},
      {"com.microsoft.QLinearSoftmax", importQLinearSoftmax},
      {"com.microsoft.QLinearWhere", importQLinearWhere},
  };
  return kRows;
}
