//===- ImportNormalize.cpp - Import of reductions and normalisations ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "OnnxTypes.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using rt::DType;
using Ints = std::vector<int64_t>;

Ints divisi::axesFrom(int64_t first, int64_t rank) {
  Ints axes;
  for (int64_t axis = first; axis < rank; ++axis) {
    axes.push_back(axis);
  }
  return axes;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The axes of a Reduce*, or nothing if the operator is to leave its input.
static std::optional<Ints> reducedAxes(NodeImporter &node) {
  int64_t rank = node.input(0)->rank();
  auto given = node.intsFrom("axes", 1);
  if (node.failed()) {
    return std::nullopt;
  }
  if (given && !given->empty()) {
    return node.normalizeAxes(*given, rank);
  }
  if (node.getInt("noop_with_empty_axes") != 0) {
    return std::nullopt;
  }
  return axesFrom(0, rank);
}

/// A mean is a sum and a division; the largest of booleans is their or.
static void importReduce(NodeImporter &node) {
  const Tensor &x = node.input(0);
  const std::string &op = node.node().opType;
  auto axes = reducedAxes(node);
  if (node.failed()) {
    return;
  }
  if (!axes) {
    return node.setResult(0, x);
  }
  bool keepDims = node.getInt("keepdims", 1) != 0;
  if (op != "ReduceMean") {
    std::string kind = op == "ReduceMax"    ? "max"
                       : op == "ReduceMin"  ? "min"
                       : op == "ReduceProd" ? "prod"
                                            : "sum";
    bool isBool = x->type == rt::DType::Bool;
    kind = isBool && kind == "max"   ? "or"
           : isBool && kind == "min" ? "and"
                                     : kind;
    return node.setResult(0, node.emitter().reduce(kind, x, *axes, keepDims));
  }
  Tensor mean = node.emitter().mean(x, *axes);
  if (!keepDims) {
    rt::Dims dims;
    for (size_t i = 0; i < x->dims.size(); ++i) {
      if (!std::binary_search(axes->begin(), axes->end(),
                              static_cast<int64_t>(i))) {
        dims.push_back(x->dims[i]);
      }
    }
    mean = node.emitter().reshape(mean, dims);
  }
  node.setResult(0, mean);
}

/// Sums of absolute values or squares, their root, or the logarithm of a sum.
/// Where nothing is summed, each element is a sum of one.
static void importReduceNorm(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const std::string &op = node.node().opType;
  auto axes = reducedAxes(node);
  if (node.failed()) {
    return;
  }
  // Squares of f16 may be beyond it where their root is not.
  DType type = node.input(0)->type;
  bool isFloat = rt::isFloatType(type);
  Tensor x = emit.cast(node.input(0), isFloat ? rt::sumType(type) : type);
  if (op == "ReduceL1") {
    x = emit.unary("abs", x);
  } else if (op != "ReduceLogSum") {
    x = emit.binary("mul", x, x);
  }
  bool keepDims = node.getInt("keepdims", 1) != 0;
  x = axes ? emit.reduce("sum", x, *axes, keepDims) : x;
  if (op == "ReduceL2" || op == "ReduceLogSum") {
    x = emit.unary(op == "ReduceL2" ? "sqrt" : "log",
                   emit.cast(x, exactFloat(x->type)));
  }
  node.setResult(0, emit.cast(x, type));
}

/// max + log(sum(exp(x - max))): without the shift it overflows. A maximum that
/// is infinite is no shift. Integers are computed in floats.
static void importReduceLogSumExp(NodeImporter &node) {
  Emitter &emit = node.emitter();
  DType type = node.input(0)->type;
  auto axes = reducedAxes(node);
  if (node.failed()) {
    return;
  }
  if (!axes) {
    return node.setResult(0, node.input(0));
  }
  Tensor x = emit.cast(node.input(0), exactFloat(type));
  Tensor top = emit.reduce("max", x, *axes, true);
  top = emit.select(emit.unary("is_inf", top), emit.scalar(top->type, 0), top);
  Tensor sum = emit.reduce("sum", emit.unary("exp", emit.binary("sub", x, top)),
                           *axes, true);
  Tensor result = emit.binary("add", emit.unary("log", sum), top);
  if (node.getInt("keepdims", 1) == 0) {
    rt::Dims dims;
    for (size_t i = 0; i < x->dims.size(); ++i) {
      if (!std::binary_search(axes->begin(), axes->end(),
                              static_cast<int64_t>(i))) {
        dims.push_back(x->dims[i]);
      }
    }
    result = emit.reshape(result, dims);
  }
  node.setResult(0, emit.cast(result, type));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static void importSoftmax(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  bool isOld = node.version() < 13;
  int64_t axis = node.getInt("axis", isOld ? 1 : -1);
  rt::Dims dims = x->dims;
  Tensor flat = x;
  if (isOld && axis == x->rank()) {
    // Legal once: rows of one element.
    dims.push_back(1);
    flat = emit.reshape(x, dims);
  }
  axis = node.normalizeAxis(axis, flat->rank());
  if (node.failed()) {
    return;
  }
  // Until opset 13 everything from the axis on was one row.
  if (isOld && axis + 1 < flat->rank()) {
    int64_t row = std::accumulate(dims.begin() + axis, dims.end(), int64_t{1},
                                  std::multiplies<>());
    dims.resize(static_cast<size_t>(axis));
    dims.push_back(row);
    flat = emit.reshape(flat, dims);
  }
  int64_t log = node.node().opType == "LogSoftmax";
  Tensor result = emit.emit("softmax", {flat}, {{"axis", axis}, {"log", log}},
                            x->type, flat->dims);
  node.setResult(0, emit.reshape(result, x->dims));
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

Tensor divisi::emitNormalize(Emitter &emit, const Tensor &x, const Ints &axes,
                             bool center, double epsilon) {
  return emit.emit(
      "normalize", {x},
      {{"axes", axes}, {"center", int64_t{center}}, {"epsilon", epsilon}},
      x->type, x->dims);
}

/// Mean and inverse standard deviation over `axes`, in the type in which
/// `stash_type` says that they are computed.
static void setStatistics(NodeImporter &node, const Ints &axes) {
  Emitter &emit = node.emitter();
  auto type = convertType(static_cast<int>(node.getInt("stash_type", 1)));
  if (!type) {
    return node.invalid("its stash_type is not an element type");
  }
  Tensor x = emit.cast(node.input(0), *type);
  Tensor mean = emit.mean(x, axes);
  Tensor distance = emit.binary("sub", x, mean);
  Tensor variance = emit.mean(emit.binary("mul", distance, distance), axes);
  Tensor epsilon = emit.scalar(*type, node.getFloat("epsilon", 1e-5));
  node.setResult(1, mean);
  node.setResult(2, emit.unary("rsqrt", emit.binary("add", variance, epsilon)));
}

/// LayerNormalization and RMSNormalization: statistics over the dims from
/// `axis` on, then scale and shift.
static void importLayerNormalization(NodeImporter &node) {
  // Before opset 17 it is ONNX Runtime's, of which no checker knows.
  if (!node.requireInputs({0, 1})) {
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), x->rank());
  if (node.failed()) {
    return;
  }
  if (node.wantsOutput(1) || node.wantsOutput(2)) {
    setStatistics(node, axesFrom(axis, x->rank()));
  }
  bool center = node.node().opType == "LayerNormalization";
  Tensor result = emitNormalize(emit, x, axesFrom(axis, x->rank()), center,
                                node.getFloat("epsilon", 1e-5));
  result = emit.binary("mul", result, node.input(1));
  if (node.hasInput(2)) {
    result = emit.binary("add", result, node.input(2));
  }
  if (!node.failed() && result->dims != x->dims) {
    return node.invalid("scale or bias do not broadcast to the input");
  }
  node.setResult(0, result);
}

/// `vector` of one element per channel, as [1, C, 1, …].
static Tensor perChannel(NodeImporter &node, const Tensor &vector,
                         const Tensor &x) {
  if (x->rank() < 2 || vector->dims != rt::Dims{x->dims[1]}) {
    node.invalid("a parameter does not have one element per channel");
    return vector;
  }
  rt::Dims dims(x->dims.size(), 1);
  dims[1] = x->dims[1];
  return node.emitter().reshape(vector, dims);
}

/// Of ONNX, `variance` divides by the number of elements; PyTorch lets one
/// less divide what it keeps, and so does a training step.
static void updateStatistics(NodeImporter &node, const Tensor &mean,
                             const Tensor &variance, int64_t count) {
  Emitter &emit = node.emitter();
  double kept = node.getFloat("momentum", 0.9);
  auto blend = [&](const Tensor &before, Tensor now, double factor) {
    DType type = before->type;
    now = emit.reshape(now, before->dims);
    if (factor != 1) {
      now = emit.binary("mul", now, emit.scalar(now->type, factor));
    }
    return emit.binary(
        "add", emit.binary("mul", before, emit.scalar(type, kept)),
        emit.binary("mul", emit.cast(now, type), emit.scalar(type, 1 - kept)));
  };
  Tensor running = blend(node.input(3), mean, 1);
  node.setResult(1, running);
  node.setResult(2, blend(node.input(4), variance, 1));
  if (!emit.trains()) {
    return;
  }
  if (count < 2) {
    return node.invalid("it has one element per channel, of which there is no "
                        "variance; train with a larger batch");
  }
  if (node.input(3)->stored && node.input(4)->stored) {
    emit.update(node.input(3), running);
    emit.update(node.input(4), blend(node.input(4), variance,
                                     double(count) / double(count - 1)));
  }
}

/// Training: by the statistics of the batch, of which a part goes into those
/// that run along.
static void importBatchStatistics(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  Ints axes = axesFrom(2, x->rank());
  axes.insert(axes.begin(), 0);
  Tensor scale = emit.cast(perChannel(node, node.input(1), x), x->type);
  Tensor bias = emit.cast(perChannel(node, node.input(2), x), x->type);
  if (node.failed()) {
    return;
  }
  Tensor y = emitNormalize(emit, x, axes, /*center=*/true,
                           node.getFloat("epsilon", 1e-5));
  node.setResult(0, emit.binary("add", emit.binary("mul", y, scale), bias));
  Tensor wide = emit.cast(x, rt::sumType(x->type));
  Tensor mean = emit.mean(wide, axes);
  Tensor distance = emit.binary("sub", wide, mean);
  Tensor variance = emit.mean(emit.binary("mul", distance, distance), axes);
  int64_t channels = std::max<int64_t>(x->dims[1], 1);
  updateStatistics(node, mean, variance, x->count() / channels);
}

/// Inference: x * factor + shift, both computed from parameters alone, once.
static void importBatchNormalization(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  // They are told from weights, of which they have the form.
  node.input(3)->isStatistic = node.input(4)->isStatistic = true;
  if (node.version() >= 14 && node.getInt("training_mode") != 0) {
    return importBatchStatistics(node);
  }
  if (node.wantsOutput(1)) {
    return node.unsupported("it is in training mode; export the model for "
                            "inference, or for opset 14 or later");
  }
  const Tensor &scale = node.input(1), &bias = node.input(2);
  const Tensor &mean = node.input(3), &variance = node.input(4);
  Tensor root = emit.unary(
      "sqrt",
      emit.binary("add", variance,
                  emit.scalar(x->type, node.getFloat("epsilon", 1e-5))));
  Tensor factor = emit.binary("div", scale, root);
  Tensor shift = emit.binary("sub", bias, emit.binary("mul", mean, factor));
  factor = perChannel(node, factor, x);
  shift = perChannel(node, shift, x);
  if (!node.failed()) {
    node.setResult(0, emit.binary("add", emit.binary("mul", x, factor), shift));
  }
}

static void importInstanceNormalization(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  if (x->rank() < 3) {
    return node.invalid("got a tensor of rank " + std::to_string(x->rank()));
  }
  Tensor scale = perChannel(node, node.input(1), x);
  Tensor bias = perChannel(node, node.input(2), x);
  if (node.failed()) {
    return;
  }
  Tensor result = emitNormalize(emit, x, axesFrom(2, x->rank()), true,
                                node.getFloat("epsilon", 1e-5));
  node.setResult(0,
                 emit.binary("add", emit.binary("mul", result, scale), bias));
}

/// x / norm, and 0 where that is 0.
static void importLpNormalization(NodeImporter &node) {
  Emitter &emit = node.emitter();
  DType type = node.input(0)->type;
  Tensor x = emit.cast(node.input(0), rt::sumType(type));
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), x->rank());
  if (node.failed()) {
    return;
  }
  bool isAbsolute = node.getInt("p", 2) == 1;
  Tensor power = isAbsolute ? emit.unary("abs", x) : emit.binary("mul", x, x);
  Tensor norm = emit.reduce("sum", power, {axis}, /*keepDims=*/true);
  norm = isAbsolute ? norm : emit.unary("sqrt", norm);
  Tensor zero = emit.scalar(x->type, 0);
  Tensor result = emit.select(emit.compare("eq", norm, zero), zero,
                              emit.binary("div", x, norm));
  node.setResult(0, emit.cast(result, type));
}

/// By the deviation and not by the root of variance and epsilon.
static void importMeanVarianceNormalization(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  Ints axes = node.hasAttribute("axes") ? node.getInts("axes") : Ints{0, 2, 3};
  axes = node.normalizeAxes(axes, x->rank());
  if (node.failed()) {
    return;
  }
  Tensor distance = emit.binary("sub", x, emit.mean(x, axes));
  Tensor variance = emit.mean(emit.binary("mul", distance, distance), axes);
  Tensor deviation = emit.binary("add", emit.unary("sqrt", variance),
                                 emit.scalar(x->type, 1e-9));
  node.setResult(0, emit.binary("div", distance, deviation));
}

/// Channels [C] as [G, C/G]; statistics over C/G and space. Scale and bias are
/// per group in opset 18, per channel from 21 on.
static void importGroupNormalization(NodeImporter &node) {
  if (!node.requireInputs({0, 1, 2})) { // No checker has seen version 18.
    return;
  }
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t groups = node.getInt("num_groups");
  if (x->rank() < 3 || groups < 1 || x->dims[1] % groups != 0) {
    return node.invalid("got " + std::to_string(groups) +
                        " groups and a tensor of rank " +
                        std::to_string(x->rank()));
  }
  rt::Dims grouped = x->dims;
  grouped[1] = groups;
  grouped.insert(grouped.begin() + 2, x->dims[1] / groups);
  bool isPerChannel = node.version() >= 21;
  rt::Dims affine(grouped.size(), 1);
  affine[1] = groups;
  affine[2] = isPerChannel ? grouped[2] : 1;
  int64_t count = affine[1] * affine[2];
  if (node.input(1)->dims != rt::Dims{count} ||
      node.input(2)->dims != rt::Dims{count}) {
    return node.invalid("scale or bias do not have " + std::to_string(count) +
                        " elements");
  }
  Tensor result =
      emitNormalize(emit, emit.reshape(x, grouped),
                    axesFrom(2, static_cast<int64_t>(grouped.size())), true,
                    node.getFloat("epsilon", 1e-5));
  result = emit.binary("mul", result, emit.reshape(node.input(1), affine));
  result = emit.binary("add", result, emit.reshape(node.input(2), affine));
  node.setResult(0, emit.reshape(result, x->dims));
}

llvm::ArrayRef<ImporterRow> divisi::normalizeImporters() {
  static const ImporterRow kRows[] = {
      {"BatchNormalization", importBatchNormalization},
      {"GroupNormalization", importGroupNormalization},
      {"InstanceNormalization", importInstanceNormalization},
      {"LayerNormalization", importLayerNormalization},
      {"LogSoftmax", importSoftmax},
      {"LpNormalization", importLpNormalization},
      {"MeanVarianceNormalization", importMeanVarianceNormalization},
      {"RMSNormalization", importLayerNormalization},
      {"ReduceL1", importReduceNorm},
      {"ReduceL2", importReduceNorm},
      {"ReduceLogSum", importReduceNorm},
      {"ReduceLogSumExp", importReduceLogSumExp},
      {"ReduceMax", importReduce},
      {"ReduceMean", importReduce},
      {"ReduceMin", importReduce},
      {"ReduceProd", importReduce},
      {"ReduceSum", importReduce},
      {"ReduceSumSquare", importReduceNorm},
      {"Softmax", importSoftmax},
  };
  return kRows;
}
