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

/// Input `i`, one number, one per index of the node's axis, or one per block of
/// them, so that it broadcasts to input 0.
static Tensor alongAxis(NodeImporter &node, size_t i) {
  Emitter &emit = node.emitter();
  const Tensor &given = node.input(i), &x = node.input(0);
  int64_t axis = node.getInt("axis", 1), block = node.getInt("block_size");
  if (given->count() == 1 && given->rank() <= 1) {
    return emit.reshape(given, {});
  }
  axis = node.normalizeAxis(axis, x->rank());
  if (node.failed()) {
    return given;
  }
  size_t at = static_cast<size_t>(axis);
  int64_t extent = x->dims[at];
  if (given->rank() == 1 && given->dims[0] == extent) {
    rt::Dims line(x->dims.size(), 1);
    line[at] = extent;
    return emit.reshape(given, line);
  }
  rt::Dims blocks = x->dims;
  blocks[at] = block > 0 ? (extent + block - 1) / block : -1;
  if (given->dims != blocks) {
    node.invalid("a scale or zero point of shape " + formatInts(given->dims) +
                 " does not fit to a tensor of shape " + formatInts(x->dims) +
                 ", axis " + std::to_string(axis) + " and blocks of " +
                 std::to_string(block));
    return given;
  }
  rt::Dims thin = blocks, wide = blocks, flat = blocks;
  thin.insert(thin.begin() + axis + 1, 1);
  wide.insert(wide.begin() + axis + 1, block);
  flat[at] *= block;
  Tensor repeated = emit.expand(emit.reshape(given, thin), wide);
  return emit.sliceAxis(emit.reshape(repeated, flat), axis, 0, extent);
}

/// round(x / scale) + zero point in `type`, saturating; x and scale are f32.
static Tensor quantize(Emitter &emit, const Tensor &x, const Tensor &scale,
                       const Tensor &zero, DType type) {
  Tensor result = emit.unary("round", emit.binary("div", x, scale));
  if (zero) {
    result = emit.binary("add", result, emit.cast(zero, DType::F32));
  }
  return emit.cast(result, type);
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
                     onnxTypeName(static_cast<int>(number)));
  }
  return type;
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
  Tensor scale = emit.cast(alongAxis(node, 1), DType::F32);
  Tensor zero = hasZero ? alongAxis(node, 2) : nullptr;
  if (!node.failed()) {
    node.setResult(
        0, quantize(emit, emit.cast(x, DType::F32), scale, zero, *type));
  }
}

static void importDequantizeLinear(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  auto type = typeFrom(node, "output_dtype", node.input(1)->type);
  if (!type) {
    return;
  }
  Tensor scale = emit.cast(alongAxis(node, 1), DType::F32);
  Tensor value = emit.cast(x, DType::I32);
  if (node.hasInput(2)) {
    value =
        emit.binary("sub", value, emit.cast(alongAxis(node, 2), DType::I32));
  }
  if (!node.failed()) {
    value = emit.binary("mul", emit.cast(value, DType::F32), scale);
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

/// `sum` of products, whose factors have the scales `a` and `b`, quantized as
/// inputs `scale` and `scale + 1` say.
static void requantize(NodeImporter &node, const Tensor &sum, const Tensor &a,
                       const Tensor &b, size_t scale) {
  Emitter &emit = node.emitter();
  auto f32 = [&](const Tensor &tensor) {
    return emit.cast(tensor, DType::F32);
  };
  const Tensor &zero = node.input(scale + 1);
  Tensor factor = emit.binary("div", emit.binary("mul", f32(a), f32(b)),
                              f32(node.input(scale)));
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

llvm::ArrayRef<ImporterRow> divisi::quantizeImporters() {
  static const ImporterRow kRows[] = {
      {"ConvInteger", importConvInteger},
      {"DequantizeLinear", importDequantizeLinear},
      {"MatMulInteger", importMatMulInteger},
      {"QLinearConv", importQLinearConv},
      {"QLinearMatMul", importQLinearMatMul},
      {"QuantizeLinear", importQuantizeLinear},
  };
  return kRows;
}
