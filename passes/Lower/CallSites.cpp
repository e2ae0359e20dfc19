//===- CallSites.cpp - Calls as kernels see them --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/CallSites.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Evaluate/KernelCall.h"

#include "mlir/IR/Builders.h"

#include <set>

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

llvm::StringSet<> divisi::updatedGlobals(ModuleOp module) {
  llvm::StringSet<> updated;
  module.walk([&](Operation *op) {
    if (auto update = dyn_cast<UpdateOp>(op)) {
      updated.insert(update.getGlobal());
    } else if (auto written = dyn_cast<NewGlobalOp>(op)) {
      updated.insert(written.getGlobal());
    }
  });
  return updated;
}

/// Null if a kernel cannot see the element type.
const CallSites::Boxes *CallSites::boxesOf(Value buffer) {
  auto type = cast<BufferType>(buffer.getType());
  std::unique_ptr<Boxes> &boxes = boxes_[type];
  bool isNew = !boxes;
  if (isNew) {
    boxes = std::make_unique<Boxes>();
  }
  std::optional<rt::TensorInfo> info = kernelTensor(type.getTensor());
  spmd::GridOp grid = spmd::lookupGrid(program_, type.getGrid());
  if (isNew && info && grid) {
    spmd::LocalAttr local = spmd::getLocal(type.getTensor());
    for (auto [position, device] : llvm::enumerate(grid.getDeviceIds())) {
      if (!llvm::binary_search(program_.getRanks(), device)) {
        continue;
      }
      rt::TensorInfo &box = boxes->emplace_back(*info);
      for (auto [dim, interval] : llvm::enumerate(local.getLayout().box(
               local.getGrid(), local.getGlobalShape(), int64_t(position)))) {
        box.extents[dim] = interval.size();
        box.offset[dim] = interval.begin;
      }
    }
  }
  bool isComplete = boxes->size() == program_.getRanks().size();
  return isComplete ? boxes.get() : nullptr;
}

bool CallSites::isConstant(Value buffer) const {
  Operation *root = rootOf(buffer).getDefiningOp();
  auto global = dyn_cast<GlobalOp>(root);
  return isa<ConstantOp>(root) ||
         (global && !updated_.contains(global.getGlobal()));
}

bool CallSites::all(CallOp call, Ask ask) {
  SmallVector<const Boxes *> operands, results;
  for (Value input : call.getInputs()) {
    operands.push_back(boxesOf(input));
  }
  for (Value output : call.getOutputs()) {
    results.push_back(boxesOf(output));
  }
  if (llvm::is_contained(operands, nullptr) ||
      llvm::is_contained(results, nullptr)) {
    return false;
  }
  rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
  int version = rt::kernelVersion(call.getCallee()).value_or(0);
  std::vector<const void *> constants;
  for (Value input : call.getInputs()) {
    // Any address: only prepare() reads them.
    constants.push_back(isConstant(input) ? &attributes : nullptr);
  }
  std::set<std::vector<rt::Dims>> asked; // by extents, which decide
  for (size_t rank = 0; rank < program_.getRanks().size(); ++rank) {
    std::vector<rt::TensorInfo> from, to;
    std::vector<rt::Dims> extents;
    for (const Boxes *boxes : operands) {
      from.push_back((*boxes)[rank]);
      extents.push_back(from.back().extents);
    }
    bool isEmpty = true;
    for (const Boxes *boxes : results) {
      to.push_back((*boxes)[rank]);
      extents.push_back(to.back().extents);
      isEmpty = isEmpty && to.back().count() == 0;
    }
    if (!isEmpty && asked.insert(std::move(extents)).second &&
        !ask({call.getCallee(), attributes, from, to, constants}, version)) {
      return false;
    }
  }
  return !asked.empty();
}

Attribute CallSites::keyOf(CallOp call) const {
  Builder builder(call.getContext());
  SmallVector<Attribute> key = {call.getCalleeAttr(), call.getConfig()};
  SmallVector<bool> areConstant;
  for (Value input : call.getInputs()) {
    key.push_back(TypeAttr::get(input.getType()));
    areConstant.push_back(isConstant(input));
  }
  for (Value output : call.getOutputs()) {
    key.push_back(TypeAttr::get(output.getType()));
  }
  key.push_back(builder.getDenseBoolArrayAttr(areConstant));
  return builder.getArrayAttr(key);
}
