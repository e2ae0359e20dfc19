//===- ModelValues.cpp - What values are in the model ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/ModelValues.h"

#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"

#include "llvm/ADT/StringExtras.h"

#include <vector>

using namespace mlir;
using namespace divisi;

/// Whether a result of `op` has the order of dimensions that ONNX's operator
/// has: import lets products and attention do the work of transpositions.
static bool keepsOrder(Operation *op) {
  auto labels = op->getAttrOfType<StringAttr>("labels");
  if (!labels) {
    return true;
  }
  auto [operands, result] = labels.getValue().split("->");
  if (isa<nn::AttentionOp>(op)) {
    // ONNX's product has [batch, head, position, element].
    return result.size() == 4 && result[1] == 'h';
  }
  std::string wanted;
  for (StringRef operand : llvm::split(operands, ',')) {
    for (char label : operand) {
      bool isNew = wanted.find(label) == std::string::npos;
      if (isNew && result.contains(label)) {
        wanted += label;
      }
    }
  }
  return result == wanted;
}

static bool leaves(OpResult result, StringRef node) {
  return llvm::any_of(result.getUsers(), [&](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() || isa<nn::UpdateOp>(user) ||
           nn::nodeName(user->getLoc()) != node;
  });
}

ModelValues::ModelValues(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    auto name =
        entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.name");
    if (name) {
      values_[argument] = {ModelValue::Kind::Input, name.getValue().str()};
    }
  }
  llvm::StringMap<std::vector<OpResult>> leaving;
  for (Operation &op : entry.getBody().front()) {
    if (auto read = dyn_cast<nn::ReadOp>(op)) {
      values_[read.getResult()] = {ModelValue::Kind::Global,
                                   read.getGlobal().str()};
      continue;
    }
    std::string node = nn::nodeName(op.getLoc());
    for (OpResult result : op.getResults()) {
      if (!node.empty() && leaves(result, node)) {
        leaving[node].push_back(result);
      }
    }
  }
  for (const auto &outputs : leaving) {
    for (auto [number, result] : llvm::enumerate(outputs.getValue())) {
      if (keepsOrder(result.getOwner())) {
        values_[result] = {ModelValue::Kind::Output, outputs.getKey().str(),
                           unsigned(number),
                           unsigned(outputs.getValue().size())};
      }
    }
  }
}

std::optional<ModelValue> ModelValues::find(Value value) const {
  auto found = values_.find(value);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}
