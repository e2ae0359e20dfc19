//===- ImportQuantize.cpp - Quantized operators ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A quantized number q means (q - zero point) * scale. Products of quantized
// numbers are sums of i32, which are exact in any order; zero points are
// subtracted before, so that the padding of a convolution counts as 0.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "OnnxTypes.h"

using namespace divisi;
using rt::DType;

namespace {
/// Along which axis scales vary, and how many indices share one.
struct ScaleBlocks {
  int64_t axis = 0, block = 1;
};
} // namespace

/// The blocks that the node's attributes and its scale, input 1, say.
static ScaleBlocks blocksOf(NodeImporter &node) {
  const Tensor &x = node.input(0), &scale = node.input(1);
  if (scale->count() == 1 && scale->rank() <= 1) {
    return {};
  }
  int64_t axis = node.normalizeAxis(node.getInt("axis", 1), x->rank());
  bool isByBlocks = scale->rank() != 1;
  return {axis, isByBlocks ? node.getInt("block_size") : 1};
}

/// Input `i`, one number, one for each index of the axis, or one for each block
/// of them, with as many dims as input 0.
static Tensor alongAxis(NodeImporter &node, size_t i, ScaleBlocks blocks) {
  const Tensor &given = node.input(i), &x = node.input(0);
  rt::Dims dims(x->dims.size(), 1);
  if (given->count() == 1 && given->rank() <= 1) {
    return node.emitter().reshape(given, dims);
  }
  size_t at = static_cast<size_t>(blocks.axis);
  bool hasAxis = !node.failed() && at < dims.size();
  if (hasAxis && given->rank() == 1 && given->dims[0] == x->dims[at]) {
    dims[at] = x->dims[at];
    return node.emitter().reshape(given, dims);
  }
  dims = x->dims;
  if (blocks.block > 0 && hasAxis) {
    dims[at] = (dims[at] + blocks.block - 1) / blocks.block;
  }
  if (blocks.block < 1 || given->dims != dims) {
    node.invalid("a scale or zero point of shape " + formatInts(given->dims) +
                 " does not fit a tensor of shape " + formatInts(x->dims) +
                 ", axis " + std::to_string(blocks.axis) + " and blocks of " +
                 std::to_string(blocks.block));
  }
  return given;
}

/// The type that attribute `name` asks for, else `fallback`.
static std::optional<DType> typeFrom(NodeImporter &node, const char *name,
                                     DType fallback) {
  int64_t number = node.getInt(name);
  if (number == 0) {
    return fallback;
  }
  auto type = convertType(static_cast<int>(number));
  if (!type) {
    node.unsupported("its result has the element type " +
                     onnxTypeName(static_cast<int>(number)) +
                     ", which Divisi does not support; export the model with " +
                     knownTypes());
  }
  return type;
}

/// What lies beyond `type` becomes infinite, or NaN. It has no zero point.
static Tensor quotientInFloat8(NodeImporter &node,
                               const std::vector<Tensor> &operands,
                               ScaleBlocks blocks, DType type) {
  Emitter &emit = node.emitter();
  Tensor scale = operands[1];
  if (blocks.block > 1) {
    std::vector<int64_t> blockOf;
    for (int64_t i = 0; i < node.input(0)->dims[size_t(blocks.axis)]; ++i) {
      blockOf.push_back(i / blocks.block);
    }
    scale = emit.gather(scale, emit.ints(blockOf), blocks.axis, 0);
  }
  return emit.cast(emit.binary("div", operands[0], scale), type,
                   /*saturates=*/false);
}

static void importQuantizeLinear(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  bool hasZero = node.hasInput(2);
  auto type =
      typeFrom(node, "output_dtype", hasZero ? node.input(2)->type : DType::U8);
  if (!type) {
    return;
  }
  ScaleBlocks blocks = blocksOf(node);
  std::vector<Tensor> operands = {
      emit.cast(x, DType::F32),
      emit.cast(alongAxis(node, 1, blocks), DType::F32)};
  if (hasZero) {
    operands.push_back(alongAxis(node, 2, blocks));
  }
  if (isFloat8(*type) && node.getInt("saturate", 1) == 0 && !node.failed()) {
    return node.setResult(0, quotientInFloat8(node, operands, blocks, *type));
  }
  if (!node.failed()) {
    node.setResult(0,
                   emit.emit("quantize", operands,
                             {{"axis", blocks.axis}, {"block", blocks.block}},
                             *type, x->dims));
  }
}

static void importDequantizeLinear(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  auto type = typeFrom(node, "output_dtype", node.input(1)->type);
  if (!type) {
    return;
  }
  if (rt::isStoredType(*type)) {
    return node.invalid("its result has elements of type " +
                        std::string(rt::stringify(*type)) +
                        "; expected 'output_dtype' FLOAT, FLOAT16 or BFLOAT16");
  }
  ScaleBlocks blocks = blocksOf(node);
  std::vector<Tensor> operands = {x, alongAxis(node, 1, blocks)};
  if (operands[1]->type != *type) {
    operands[1] = emit.cast(operands[1], DType::F32);
  }
  if (node.hasInput(2)) {
    operands.push_back(alongAxis(node, 2, blocks));
  }
  if (!node.failed()) {
    Tensor value = emit.emit("dequantize", operands,
                             {{"axis", blocks.axis}, {"block", blocks.block}},
                             operands[1]->type, x->dims);
    node.setResult(0, emit.cast(value, *type));
  }
}

/// Input `i` in i32, without its zero point, input `zero`; `shape` gives the
/// zero point dims to broadcast by.
template <typename Shape>
static Tensor withoutZero(NodeImporter &node, size_t i, size_t zero,
                          Shape shape) {
  Emitter &emit = node.emitter();
  Tensor x = emit.cast(node.input(i), DType::I32);
  if (!node.hasInput(zero)) {
    return x;
  }
  return emit.binary("sub", x, emit.cast(shape(node.input(zero)), DType::I32));
}

/// A vector with an entry for each row of a matrix, as a column.
static Tensor perRow(Emitter &emit, const Tensor &given) {
  return given->rank() == 1 ? emit.reshape(given, {given->dims[0], 1}) : given;
}

static Tensor integerProduct(NodeImporter &node, size_t b, size_t aZero,
                             size_t bZero) {
  Emitter &emit = node.emitter();
  Tensor left = withoutZero(node, 0, aZero, [&](const Tensor &zero) {
    return node.input(0)->rank() > 1 ? perRow(emit, zero) : zero;
  });
  Tensor right =
      withoutZero(node, b, bZero, [](const Tensor &zero) { return zero; });
  return importProduct(node, left, right);
}

static void importMatMulInteger(NodeImporter &node) {
  node.setResult(0, integerProduct(node, 1, 2, 3));
}

Tensor divisi::dequantizeBy(Emitter &emit, const Tensor &x, const Tensor &scale,
                            const Tensor &zero) {
  auto aligned = [&](const Tensor &given) {
    rt::Dims dims(static_cast<size_t>(x->rank() - given->rank()), 1);
    dims.insert(dims.end(), given->dims.begin(), given->dims.end());
    return emit.reshape(given, dims);
  };
  std::vector<Tensor> operands = {x, aligned(scale)};
  if (zero) {
    operands.push_back(aligned(zero));
  }
  return emit.emit("dequantize", operands,
                   {{"axis", int64_t(0)}, {"block", int64_t(1)}}, scale->type,
                   x->dims);
}

/// `sum` of products, whose factors have the scales `a` and `b`, quantized as
/// inputs `scale` and `scale + 1` say.
static void requantize(NodeImporter &node, const Tensor &sum, const Tensor &a,
                       const Tensor &b, size_t scale) {
  Emitter &emit = node.emitter();
  auto f32 = [&](const Tensor &tensor) {
    return emit.cast(tensor, DType::F32);
  };
  const Tensor &zero = node.input(scale + 1);
  Tensor product = emit.binary("mul", f32(a), f32(b));
  if (node.input(scale)->count() == 1 && zero->count() == 1 &&
      product->rank() <= sum->rank() && !node.failed()) {
    rt::Dims one(sum->dims.size(), 1);
    std::vector<Tensor> operands = {dequantizeBy(emit, sum, product),
                                    emit.reshape(f32(node.input(scale)), one),
                                    emit.reshape(zero, one)};
    return node.setResult(
        0, emit.emit("quantize", operands,
                     {{"axis", int64_t(0)}, {"block", int64_t(1)}}, zero->type,
                     sum->dims));
  }
  Tensor factor = emit.binary("div", product, f32(node.input(scale)));
  Tensor result = emit.unary("round", emit.binary("mul", f32(sum), factor));
  result = emit.binary("add", result, f32(zero));
  node.setResult(0, emit.cast(result, zero->type));
}

static void importQLinearMatMul(NodeImporter &node) {
  Tensor sum = integerProduct(node, 3, 2, 5);
  if (!node.failed()) {
    requantize(node, sum, perRow(node.emitter(), node.input(1)), node.input(4),
               6);
  }
}

/// One number per output channel of a kernel, or of an image.
static Tensor perChannel(Emitter &emit, const Tensor &given, int64_t rank,
                         size_t channel) {
  if (given->count() == 1) {
    return emit.reshape(given, {});
  }
  rt::Dims dims(static_cast<size_t>(rank), 1);
  dims[channel] = given->count();
  return emit.reshape(given, dims);
}

static Tensor integerConvolution(NodeImporter &node, size_t w, size_t xZero,
                                 size_t wZero) {
  Emitter &emit = node.emitter();
  int64_t rank = node.input(0)->rank();
  if (rank < 3) { // It says what is wrong.
    return importConvolution(node, node.input(0), node.input(w));
  }
  Tensor image = withoutZero(node, 0, xZero, [&](const Tensor &zero) {
    return emit.reshape(zero, {});
  });
  Tensor kernel = withoutZero(node, w, wZero, [&](const Tensor &zero) {
    return perChannel(emit, zero, rank, 0);
  });
  return importConvolution(node, image, kernel);
}

static void importConvInteger(NodeImporter &node) {
  node.setResult(0, integerConvolution(node, 1, 2, 3));
}

static void importQLinearConv(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor sum = integerConvolution(node, 3, 2, 5);
  if (!node.failed() && node.hasInput(8)) {
    sum = addChannelBias(node, sum, node.input(8));
  }
  if (!node.failed()) {
    requantize(node, sum, emit.reshape(node.input(1), {}),
               perChannel(emit, node.input(4), sum->rank(), 1), 6);
  }
}

/// ONNX Runtime's own, for types that ONNX's lacked: the same, but for inputs
/// that no checker has looked at.
static void importRuntimeQuantizeLinear(NodeImporter &node) {
  if (node.requireInputs({0, 1})) {
    importQuantizeLinear(node);
  }
}

static void importRuntimeDequantizeLinear(NodeImporter &node) {
  if (node.requireInputs({0, 1})) {
    importDequantizeLinear(node);
  }
}

llvm::ArrayRef<ImporterRow> divisi::quantizeImporters() {
  static const ImporterRow kRows[] = {
      {"ConvInteger", importConvInteger},
      {"DequantizeLinear", importDequantizeLinear},
      {"MatMulInteger", importMatMulInteger},
      {"QLinearConv", importQLinearConv},
      {"QLinearMatMul", importQLinearMatMul},
      {"QuantizeLinear", importQuantizeLinear},
      {"com.microsoft.DequantizeLinear", importRuntimeDequantizeLinear},
      {"com.microsoft.QuantizeLinear", importRuntimeQuantizeLinear},
  };
  return kRows;
}
