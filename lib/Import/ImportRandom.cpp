//===- ImportRandom.cpp - Import of random numbers ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All are made of numbers from [0, 1) that an element's place decides on, with
// the number of the run (nn.random), so that they are the same however they are
// split, and others in each run:
//
//   normal       sqrt(-2 ln(1 - u)) cos(2 pi v)      (Box and Muller)
//   Bernoulli    u < p
//   multinomial  the largest of logits - ln(-ln(u))  (Gumbel)
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "OnnxTypes.h"

#include <numbers>

using namespace divisi;
using rt::DType;

/// The type that the attribute `dtype` names, or `fallback` without one; fails
/// unless it is one of floats.
static DType floatTypeOf(NodeImporter &node, DType fallback) {
  if (!node.hasAttribute("dtype")) {
    return fallback;
  }
  auto type = convertType(int(node.getInt("dtype")));
  if (!type || !rt::isFloatType(*type) || rt::isStoredType(*type)) {
    node.unsupported("dtype " + std::to_string(node.getInt("dtype")) +
                     " is no type of floats that can be computed with");
    return fallback;
  }
  return *type;
}

/// Of the seed that the node has, its numbers of `stream`; else others than
/// those of all other calls.
static Tensor draw(NodeImporter &node, const rt::Dims &dims,
                   int64_t stream = 0) {
  std::optional<double> seed;
  if (node.hasAttribute("seed")) {
    seed = node.getFloat("seed");
  }
  return node.emitter().random(dims, seed, stream);
}

/// `a` * x + `b`, in `type`.
static Tensor scaled(Emitter &emit, Tensor x, double a, double b, DType type) {
  x = emit.binary("mul", x, emit.scalar(DType::F32, a));
  x = emit.binary("add", x, emit.scalar(DType::F32, b));
  return emit.cast(x, type);
}

static void giveUniform(NodeImporter &node, const rt::Dims &dims, DType type) {
  double low = node.getFloat("low", 0), high = node.getFloat("high", 1);
  Tensor u = draw(node, dims);
  node.setResult(0, scaled(node.emitter(), u, high - low, low, type));
}

static void giveNormal(NodeImporter &node, const rt::Dims &dims, DType type) {
  Emitter &emit = node.emitter();
  auto number = [&](double value) { return emit.scalar(DType::F32, value); };
  // 1 - u is never 0.
  Tensor u = emit.binary("sub", number(1), draw(node, dims));
  Tensor length =
      emit.unary("sqrt", emit.binary("mul", emit.unary("log", u), number(-2)));
  Tensor angle =
      emit.binary("mul", draw(node, dims, 1), number(2 * std::numbers::pi));
  Tensor normal = emit.binary("mul", length, emit.unary("cos", angle));
  node.setResult(0, scaled(emit, normal, node.getFloat("scale", 1),
                           node.getFloat("mean", 0), type));
}

using Give = void (*)(NodeImporter &node, const rt::Dims &dims, DType type);

/// Of the attribute `shape`.
template <Give give> static void importOfShape(NodeImporter &node) {
  rt::Dims dims = node.getInts("shape");
  if (llvm::any_of(dims, [](int64_t extent) { return extent < 0; })) {
    return node.invalid("its shape is " + formatInts(dims));
  }
  DType type = floatTypeOf(node, DType::F32);
  if (!node.failed()) {
    give(node, dims, type);
  }
}

/// Of the shape of the input, and its type unless another one is said.
template <Give give> static void importLike(NodeImporter &node) {
  const Tensor &like = node.input(0);
  bool isFloat = rt::isFloatType(like->type);
  if (!isFloat && !node.hasAttribute("dtype")) {
    return node.invalid("its input is not of floats, and it has no dtype");
  }
  DType type = floatTypeOf(node, isFloat ? like->type : DType::F32);
  if (!node.failed()) {
    give(node, like->dims, type);
  }
}

static void importBernoulli(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &p = node.input(0);
  auto type = node.hasAttribute("dtype")
                  ? convertType(int(node.getInt("dtype")))
                  : std::optional(p->type);
  if (!type || rt::isStoredType(*type)) {
    return node.unsupported("dtype " + std::to_string(node.getInt("dtype")) +
                            " cannot be computed with");
  }
  Tensor u = draw(node, p->dims);
  Tensor hits = emit.compare("lt", u, emit.cast(p, DType::F32));
  node.setResult(0, emit.cast(hits, *type));
}

/// Each sample is drawn for itself; logits are logarithms up to a constant.
static void importMultinomial(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &logits = node.input(0);
  int64_t samples = node.getInt("sample_size", 1);
  if (logits->rank() != 2 || samples < 0) {
    return node.invalid("its input has the rank " +
                        std::to_string(logits->rank()) + ", expected 2, and " +
                        std::to_string(samples) + " samples are drawn");
  }
  int64_t batch = logits->dims[0], classes = logits->dims[1];
  auto type = convertType(int(node.getInt("dtype", 6)));
  if (!type || (*type != DType::I32 && *type != DType::I64)) {
    return node.invalid("its dtype is neither int32 nor int64");
  }
  Tensor u = emit.binary("sub", emit.scalar(DType::F32, 1),
                         draw(node, {batch, samples, classes}));
  auto negLog = [&](const Tensor &x) {
    return emit.unary("neg", emit.unary("log", x));
  };
  // Of u = 1 the inner logarithm is 0: never the largest but where all are.
  Tensor noise = negLog(negLog(u));
  Tensor all = emit.binary(
      "add", noise,
      emit.reshape(emit.cast(logits, DType::F32), {batch, 1, classes}));
  Tensor at = emit.emit("arg_reduce", {all},
                        {{"kind", std::string("max")},
                         {"axis", int64_t(2)},
                         {"last", int64_t(0)}},
                        DType::I64, {batch, samples});
  node.setResult(0, emit.cast(at, *type));
}

llvm::ArrayRef<ImporterRow> divisi::randomImporters() {
  static const ImporterRow kRows[] = {
      {"Bernoulli", importBernoulli},
      {"Multinomial", importMultinomial},
      {"RandomNormal", importOfShape<giveNormal>},
      {"RandomNormalLike", importLike<giveNormal>},
      {"RandomUniform", importOfShape<giveUniform>},
      {"RandomUniformLike", importLike<giveUniform>}};
  return kRows;
}
