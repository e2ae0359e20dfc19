//===- ImportShape.cpp - Import of constants and shapes -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>

using namespace divisi;
using Ints = std::vector<int64_t>;

/// Exactly one of the attributes is there; its type says which.
static void importConstant(NodeImporter &node) {
  Emitter &emit = node.emitter();
  for (const auto &[name, attribute] : node.node().attributes) {
    if (const auto *tensor = std::get_if<OnnxTensor>(&attribute.value)) {
      return node.setResult(0,
                            emit.initializer(*tensor, /*isOfNode=*/true));
    }
    if (const auto *i = std::get_if<int64_t>(&attribute.value)) {
      return node.setResult(0, emit.integer(*i));
    }
    if (const auto *f = std::get_if<float>(&attribute.value)) {
      return node.setResult(0,
                            emit.constant(rt::HostTensor::ofFloats({}, {*f})));
    }
    if (const auto *ints = std::get_if<Ints>(&attribute.value)) {
      return node.setResult(0, emit.ints(*ints));
    }
    if (const auto *fs = std::get_if<std::vector<float>>(&attribute.value)) {
      return node.setResult(0, emit.constant(rt::HostTensor::ofFloats(
                                   {static_cast<int64_t>(fs->size())}, *fs)));
    }
  }
  node.unsupported("its value is not a dense tensor of numbers");
}

static void importConstantOfShape(NodeImporter &node) {
  Emitter &emit = node.emitter();
  auto dims = node.constantInts(0);
  if (!dims) {
    return;
  }
  Tensor value = emit.scalar(rt::DType::F32, 0);
  auto it = node.node().attributes.find("value");
  if (it != node.node().attributes.end()) {
    const auto *tensor = std::get_if<OnnxTensor>(&it->second.value);
    Tensor given = tensor ? emit.initializer(*tensor) : nullptr;
    auto bytes = given ? emit.bytesOf(given) : std::nullopt;
    if (!bytes || bytes->count() != 1) {
      return node.invalid("its value does not have exactly one element");
    }
    value = emit.constant(bytes->reshaped({}));
  }
  node.setResult(0, emit.expand(value, *dims));
}

static void importShape(NodeImporter &node) {
  const Tensor &x = node.input(0);
  auto bound = [&](const char *name, int64_t fallback) {
    int64_t at = node.getInt(name, fallback);
    return std::clamp<int64_t>(at < 0 ? at + x->rank() : at, 0, x->rank());
  };
  int64_t start = bound("start", 0), end = bound("end", x->rank());
  Ints dims(x->dims.begin() + start, x->dims.begin() + std::max(start, end));
  node.setResult(0, node.emitter().ints(dims));
}

static void importSize(NodeImporter &node) {
  node.setResult(0, node.emitter().integer(node.input(0)->count()));
}

llvm::ArrayRef<ImporterRow> divisi::shapeImporters() {
  static const ImporterRow kRows[] = {
      {"Constant", importConstant},
      {"ConstantOfShape", importConstantOfShape},
      {"Shape", importShape},
      {"Size", importSize},
  };
  return kRows;
}
