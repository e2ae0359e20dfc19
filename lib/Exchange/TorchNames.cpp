//===- TorchNames.cpp - Parameters by PyTorch's names ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TorchNames.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace divisi;
using llvm::StringRef;

std::string divisi::torchNameOf(const OutlineNode &node) {
  StringRef call = node.torchCall;
  return call.consume_front("%") ? call.split(' ').first.str() : "";
}

/// `p_h_0_fc_weight` of `%linear : … (args = (%x, %p_h_0_fc_weight, …), …)`.
static StringRef weightOfLinear(StringRef call) {
  StringRef arguments = call.split("target=torch.ops.aten.linear").second;
  arguments = arguments.split("args = (").second;
  llvm::SmallVector<StringRef> parts;
  arguments.split(parts, ", ", 2);
  return parts.size() < 2
             ? StringRef()
             : parts[1].take_until([](char c) { return c == ')' || c == ','; });
}

/// Whether `name` of a module is `mangled` in a graph.
static bool isMangled(StringRef name, StringRef mangled) {
  std::string plain = name.str();
  std::replace(plain.begin(), plain.end(), '.', '_');
  return mangled == "%p_" + plain;
}

std::map<std::string, TorchParameter>
divisi::torchParameters(const ModelOutline &outline) {
  std::map<std::string, TorchParameter> names;
  for (const OutlineNode &node : outline.nodes) {
    if (node.opType != "MatMul" || node.inputs.size() != 2 ||
        node.scope.empty()) {
      continue;
    }
    const std::string &weight = node.inputs[1];
    auto shape = outline.initializers.find(weight);
    std::string name = node.scope + ".weight";
    if (shape != outline.initializers.end() && shape->second.size() == 2 &&
        isMangled(name, weightOfLinear(node.torchCall))) {
      names[weight] = {name, true, outline.initializers.count(name) != 0};
    }
  }
  return names;
}
