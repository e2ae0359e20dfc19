//===- ImportBlocks.cpp - Weights of few bits, with scales of blocks ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of com.microsoft over codes that are packed in bytes, the first in
// the low bits. From here on each code has a byte of its own, as those of
// ONNX's own types of 4 bits have, so that every dim can be split:
//
//   MatMulNBits(a, b, scales)
//   becomes nn.matmul %a, (nn.dequantize %codes, %scales {block = 32})
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

using namespace divisi;
using rt::DType;

/// `x` divided by `block`, rounded up.
static int64_t blocksIn(int64_t x, int64_t block) {
  return x / block + (x % block != 0);
}

/// The code in the middle of all of `bits`, one number of `type`: the zero
/// point where none is given.
static Tensor middle(Emitter &emit, DType type, int64_t bits, int64_t rank) {
  rt::Dims one(static_cast<size_t>(rank), 1);
  return emit.cast(
      emit.numbers(DType::U8, one, {double(int64_t{1} << (bits - 1))}), type);
}

/// Whether codes of `bits` in blocks of `block` are what these operators have;
/// else fails.
static bool checkCodes(NodeImporter &node, int64_t bits, int64_t block) {
  if (bits != 2 && bits != 4 && bits != 8) {
    node.unsupported("its weights have " + std::to_string(bits) +
                     " bits; quantize them to 2, 4 or 8");
  } else if (block < 1 || block > (int64_t{1} << 30) || block * bits % 8 != 0) {
    node.invalid("its block_size is " + std::to_string(block));
  }
  return !node.failed();
}

/// Input `i`, codes packed in rows of whole bytes, as [rows, columns] of codes;
/// what a row has more is padding. Fails if there are not as many.
static Tensor codesOf(NodeImporter &node, size_t i, int64_t bits, int64_t rows,
                      int64_t columns) {
  Emitter &emit = node.emitter();
  const Tensor &packed = node.input(i);
  int64_t bytes = blocksIn(columns * bits, 8);
  if (packed->type != DType::U8 || packed->count() != rows * bytes) {
    node.invalid("input " + std::to_string(i) + " of shape " +
                 formatInts(packed->dims) + " does not hold " +
                 std::to_string(rows) + " times " + std::to_string(columns) +
                 " codes of " + std::to_string(bits) + " bits");
    return packed;
  }
  Tensor all =
      emit.reshape(emit.unpackBits(packed, bits), {rows, bytes * (8 / bits)});
  return emit.sliceAxis(all, 1, 0, columns);
}

/// (codes - zeros) * scales, where zero points are no codes but numbers.
static Tensor scaledByNumbers(Emitter &emit, const Tensor &codes,
                              const Tensor &scales, const Tensor &zeros,
                              int64_t block) {
  const rt::Dims &dims = codes->dims;
  rt::Dims apart = {dims[0], scales->dims[1], block};
  rt::Dims one = {dims[0], scales->dims[1], 1};
  Tensor padded = emit.pad(emit.cast(codes, scales->type), {0, 0},
                           {0, scales->dims[1] * block - dims[1]}, 0);
  Tensor value =
      emit.binary("sub", emit.reshape(padded, apart), emit.reshape(zeros, one));
  value = emit.binary("mul", value, emit.reshape(scales, one));
  value = emit.reshape(value, {dims[0], scales->dims[1] * block});
  return emit.sliceAxis(value, 1, 0, dims[1]);
}

/// The weights [n, k] of a MatMulNBits.
static Tensor weightsOf(NodeImporter &node, int64_t n, int64_t k) {
  Emitter &emit = node.emitter();
  int64_t bits = node.getInt("bits", 4), block = node.getInt("block_size");
  int64_t blocks = blocksIn(k, block);
  Tensor codes = codesOf(node, 1, bits, n, blocks * block);
  if (node.failed()) {
    return codes;
  }
  codes = emit.sliceAxis(codes, 1, 0, k);
  auto byBlocks = [&](size_t i) {
    if (node.input(i)->count() != n * blocks) {
      node.invalid("input " + std::to_string(i) + " of shape " +
                   formatInts(node.input(i)->dims) + " does not have " +
                   std::to_string(n) + " times " + std::to_string(blocks) +
                   " numbers");
      return node.input(i);
    }
    return emit.reshape(node.input(i), {n, blocks});
  };
  Tensor scales = byBlocks(2), zeros;
  bool hasNumbers = node.hasInput(3) && rt::isFloatType(node.input(3)->type);
  if (hasNumbers) {
    zeros = byBlocks(3);
  } else if (node.hasInput(3)) {
    zeros = codesOf(node, 3, bits, n, blocks);
  }
  if (node.failed()) {
    return codes;
  }
  if (node.hasInput(4) && node.checkDims(4, {k})) {
    // Each column says which block's scale it has.
    scales = emit.gather(scales, node.input(4), 1, 0);
    zeros = zeros ? emit.gather(zeros, node.input(4), 1, 0) : zeros;
    block = 1;
  }
  if (hasNumbers) {
    return scaledByNumbers(emit, codes, scales, zeros, block);
  }
  zeros = zeros ? zeros : middle(emit, codes->type, bits, 2);
  return emit.emit("dequantize", {codes, scales, zeros},
                   {{"axis", int64_t{1}}, {"block", block}}, scales->type,
                   codes->dims);
}

/// a · wᵀ for whatever stands in front of the last dim of `a`.
static Tensor productByRows(Emitter &emit, const Tensor &a, const Tensor &w) {
  static constexpr char kLabels[] = "abcdefghijlmopqrstuvwxyz";
  std::string front(kLabels, a->dims.size() - 1);
  return emit.matmul(a, w, front + "k,nk->" + front + "n");
}

static void importMatMulNBits(NodeImporter &node) {
  int64_t n = node.getInt("N"), k = node.getInt("K");
  if (!node.requireInputs({0, 1, 2}) ||
      !checkCodes(node, node.getInt("bits", 4), node.getInt("block_size"))) {
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &a = node.input(0);
  if (node.getInt("weight_prepacked") != 0) {
    return node.unsupported("its weights are packed for one kind of GPU; "
                            "export the model with weight_prepacked 0");
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  if (n < 1 || k < 1 || n > kMost || k > kMost || a->rank() < 1 ||
      a->rank() > 16 || a->dims.back() != k) {
    return node.invalid("an input of shape " + formatInts(a->dims) +
                        " does not fit weights of " + std::to_string(n) +
                        " by " + std::to_string(k));
  }
  Tensor weights = weightsOf(node, n, k);
  if (node.failed() || !node.checkDims(5, {n})) {
    return;
  }
  Tensor result = productByRows(emit, a, weights);
  if (node.hasInput(5)) {
    result = emit.binary("add", result, node.input(5));
  }
  node.setResult(0, result);
}

/// Rows are taken before they are dequantized.
static void importGatherBlockQuantized(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2})) {
    return;
  }
  Emitter &emit = node.emitter();
  Tensor codes = node.input(0), zeros;
  const Tensor &ids = node.input(1);
  Tensor scales = node.input(2);
  bool isPacked = codes->type == DType::U8;
  int64_t bits = isPacked ? node.getInt("bits", 4) : 4;
  int64_t block = node.getInt("block_size", 128);
  int64_t axis = node.normalizeAxis(node.getInt("gather_axis"), codes->rank());
  int64_t along =
      node.normalizeAxis(node.getInt("quantize_axis", 1), codes->rank());
  if (node.failed() || !checkCodes(node, bits, block)) {
    return;
  }
  if (axis == along || codes->rank() != scales->rank()) {
    return node.invalid("it gathers along axis " + std::to_string(axis) +
                        ", and has scales of shape " +
                        formatInts(scales->dims) + " along axis " +
                        std::to_string(along));
  }
  zeros = node.hasInput(3) ? node.input(3) : nullptr;
  if (zeros && (zeros->type != codes->type || zeros->rank() != codes->rank())) {
    return node.invalid("zero points of shape " + formatInts(zeros->dims) +
                        " do not fit codes of shape " +
                        formatInts(codes->dims));
  }
  auto unpack = [&](const Tensor &x, int64_t extent) {
    rt::Dims dims = x->dims;
    dims.back() *= 8 / bits;
    Tensor all = emit.reshape(emit.unpackBits(x, bits), dims);
    return emit.sliceAxis(all, x->rank() - 1, 0, std::min(extent, dims.back()));
  };
  if (isPacked) {
    zeros = zeros ? unpack(zeros, scales->dims.back()) : zeros;
    codes = unpack(codes, codes->dims.back() * (8 / bits));
  }
  if (!zeros && isPacked) {
    zeros = middle(emit, codes->type, bits, codes->rank());
  } else if (zeros) {
    zeros = emit.gather(zeros, ids, axis, 0);
  }
  codes = emit.gather(codes, ids, axis, 0);
  scales = emit.gather(scales, ids, axis, 0);
  along += axis < along ? ids->rank() - 1 : 0;
  if (zeros && zeros->count() == 1) {
    zeros = emit.reshape(zeros, rt::Dims(codes->dims.size(), 1));
  }
  std::vector<Tensor> operands = {codes, scales};
  if (zeros) {
    operands.push_back(zeros);
  }
  node.setResult(0, emit.emit("dequantize", operands,
                              {{"axis", along}, {"block", block}}, scales->type,
                              codes->dims));
}

llvm::ArrayRef<ImporterRow> divisi::blockImporters() {
  static const ImporterRow kRows[] = {
      {"com.microsoft.GatherBlockQuantized", importGatherBlockQuantized},
      {"com.microsoft.MatMulNBits", importMatMulNBits},
  };
  return kRows;
}
