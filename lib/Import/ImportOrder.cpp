//===- ImportOrder.cpp - Operators that order or accumulate ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

using namespace divisi;
using rt::DType;

/// Where the extreme element along `axis` is.
static Tensor argReduce(Emitter &emit, const Tensor &x, int64_t axis,
                        const std::string &kind, bool last) {
  rt::Dims dims = x->dims;
  dims.erase(dims.begin() + axis);
  return emit.emit("arg_reduce", {x},
                   {{"axis", axis}, {"kind", kind}, {"last", int64_t{last}}},
                   DType::I64, dims);
}

static void importArgReduce(NodeImporter &node) {
  const Tensor &x = node.input(0);
  int64_t axis = node.normalizeAxis(node.getInt("axis"), x->rank());
  if (node.failed()) {
    return;
  }
  std::string kind = node.node().opType == "ArgMax" ? "max" : "min";
  Tensor result = argReduce(node.emitter(), x, axis, kind,
                            node.getInt("select_last_index") != 0);
  if (node.getInt("keepdims", 1) != 0) {
    rt::Dims dims = x->dims;
    dims[static_cast<size_t>(axis)] = 1;
    result = node.emitter().reshape(result, dims);
  }
  node.setResult(0, result);
}

/// 1 where the first largest element of a line is, else 0. Until opset 13
/// everything from the axis on was one line.
static void importHardmax(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  bool isOld = node.version() < 13;
  int64_t axis =
      node.normalizeAxis(node.getInt("axis", isOld ? 1 : -1), x->rank());
  if (node.failed()) {
    return;
  }
  rt::Dims dims = x->dims;
  if (isOld) {
    int64_t line = 1;
    for (size_t d = static_cast<size_t>(axis); d < dims.size(); ++d) {
      line *= dims[d];
    }
    dims.resize(static_cast<size_t>(axis));
    dims.push_back(line);
  }
  Tensor flat = emit.reshape(x, dims);
  Tensor first = argReduce(emit, flat, axis, "max", /*last=*/false);
  rt::Dims kept = dims, line(dims.size(), 1);
  kept[static_cast<size_t>(axis)] = 1;
  line[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)];
  Tensor is = emit.compare("eq", emit.iota(DType::I64, line, axis),
                           emit.reshape(first, kept));
  node.setResult(0, emit.reshape(emit.cast(is, x->type), x->dims));
}

static void importCumulate(NodeImporter &node) {
  const Tensor &x = node.input(0);
  auto given = node.constantNumber(1);
  if (!given) {
    return;
  }
  int64_t axis = node.normalizeAxis(static_cast<int64_t>(*given), x->rank());
  if (node.failed()) {
    return;
  }
  bool isSum = node.node().opType == "CumSum";
  node.setResult(
      0, node.emitter().emit("cumulate", {x},
                             {{"axis", axis},
                              {"kind", std::string(isSum ? "sum" : "prod")},
                              {"exclusive", node.getInt("exclusive")},
                              {"reverse", node.getInt("reverse")}},
                             x->type, x->dims));
}

/// Always sorted: what is not asked to be may be.
static void importTopK(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t axis = node.normalizeAxis(node.getInt("axis", -1), x->rank());
  auto k = node.intsFrom("k", 1);
  if (node.hasAttribute("k")) {
    k = {node.getInt("k")};
  }
  if (node.failed() || !k) {
    return;
  }
  rt::Dims dims = x->dims;
  int64_t &extent = dims[static_cast<size_t>(axis)];
  if (k->size() != 1 || k->front() < 0 || k->front() > extent) {
    return node.invalid("got k " + formatInts(*k) + " for an extent of " +
                        std::to_string(extent));
  }
  extent = k->front();
  Tensor indices = emit.emit(
      "top_k", {x},
      {{"axis", axis}, {"k", extent}, {"largest", node.getInt("largest", 1)}},
      DType::I64, dims);
  node.setResult(0, emit.emit("take_along", {x, indices}, {{"axis", axis}},
                              x->type, dims));
  node.setResult(1, indices);
}

llvm::ArrayRef<ImporterRow> divisi::orderImporters() {
  static const ImporterRow kRows[] = {
      {"ArgMax", importArgReduce}, {"ArgMin", importArgReduce},
      {"CumProd", importCumulate}, {"CumSum", importCumulate},
      {"Hardmax", importHardmax},  {"TopK", importTopK},
  };
  return kRows;
}
