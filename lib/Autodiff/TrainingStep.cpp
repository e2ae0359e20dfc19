//===- TrainingStep.cpp - From a forward pass to a step -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainNote.h"

#include "MicroBatches.h"
#include "dialects/NN/Functions.h"
#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "divisi/Autodiff/Gradients.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

/// The output that is trained by, once it has been found by markTrained().
static unsigned indexOfOutput(func::FuncOp entry, const std::string &name) {
  for (unsigned i = 0; i != entry.getNumResults(); ++i) {
    auto known = entry.getResultAttrOfType<StringAttr>(i, "nn.name");
    if (known && known.getValue() == name) {
      return i;
    }
  }
  return 0;
}

/// Weights in the order of the module, each read once.
static SmallVector<TrainedWeight> readWeights(func::FuncOp entry,
                                              const TrainOptions &options) {
  llvm::StringMap<SmallVector<nn::ReadOp>> reads;
  for (auto read : entry.getOps<nn::ReadOp>()) {
    reads[read.getGlobal()].push_back(read);
  }
  SmallVector<TrainedWeight> weights;
  auto module = entry->getParentOfType<ModuleOp>();
  for (auto global : module.getOps<nn::GlobalOp>()) {
    auto found = reads.find(global.getSymName());
    if (!global->hasAttr(nn::kTrainedAttr) || found == reads.end()) {
      continue;
    }
    nn::ReadOp first = found->second.front();
    first->moveBefore(&entry.getBody().front().front());
    for (nn::ReadOp other : ArrayRef(found->second).drop_front()) {
      other.getValue().replaceAllUsesWith(first.getValue());
      other.erase();
    }
    bool decays = llvm::none_of(options.noDecay, [&](StringRef name) {
      return nn::matchesName(name, global.getSymName());
    });
    weights.push_back({global, first.getValue(), Value(), decays});
  }
  return weights;
}

/// The loss is what the step returns, and whether it was skipped if it may be.
/// What only other outputs need is not computed.
static void returnLoss(func::FuncOp entry, Value loss, Value isSkipped) {
  Builder builder(entry.getContext());
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  for (auto [name, value] :
       {std::pair(kLossOutput, loss), std::pair(kSkippedOutput, isSkipped)}) {
    if (value) {
      values.push_back(value);
      attributes.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr("nn.name", builder.getStringAttr(name))));
    }
  }
  entry.getBody().front().getTerminator()->setOperands(values);
  entry.setFunctionType(builder.getFunctionType(
      entry.getArgumentTypes(),
      SmallVector<Type>(ValueRange(values).getTypes())));
  entry.setResAttrsAttr(builder.getArrayAttr(attributes));
  entry.setSymName(kTrainStep);
}

/// The loss of all batches; weights get their gradients, or go if they have
/// none. Reports an error.
static FailureOr<Value> addGradients(StepBuilder &b, func::FuncOp entry,
                                     Value output, const LossScale &scale,
                                     SmallVector<TrainedWeight> &weights,
                                     const TrainOptions &options) {
  MicroBatches batches(entry, options.microBatches, options.isPipeline);
  FailureOr<Loss> loss = makeLoss(b, entry, batches, output, options);
  if (failed(loss)) {
    return failure();
  }
  Value seed = loss->gradient;
  if (scale.factor) {
    seed = b.mul(seed, b.cast(scale.factor, getElementTypeOrSelf(seed)));
  }
  SmallVector<Value> values;
  for (const TrainedWeight &weight : weights) {
    values.push_back(weight.value);
  }
  FailureOr<SmallVector<Value>> gradients =
      makeGradients(b.builder(), output, seed, values);
  if (failed(gradients)) {
    return failure();
  }
  for (auto [weight, gradient] : llvm::zip_equal(weights, *gradients)) {
    weight.gradient = gradient;
  }
  // A weight that has become superfluous stays as it is.
  llvm::erase_if(weights,
                 [](const TrainedWeight &weight) { return !weight.gradient; });
  SmallVector<Value> sums{loss->value};
  for (const TrainedWeight &weight : weights) {
    sums.push_back(weight.gradient);
  }
  entry.getBody().front().getTerminator()->setOperands({});
  batches.repeat(b, sums);
  for (auto [weight, sum] :
       llvm::zip_equal(weights, ArrayRef(sums).drop_front())) {
    weight.gradient = sum;
  }
  return sums.front();
}

LogicalResult divisi::makeTrainingStep(ModuleOp module,
                                       const TrainOptions &options) {
  SymbolTable symbols(module);
  func::FuncOp entry;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPublic() && !nn::isInit(function)) {
      entry = function;
    }
  }
  if (!entry) {
    return module.emitOpError() << "has no entry to train";
  }
  unsigned index = indexOfOutput(entry, options.lossOf);
  Operation *end = entry.getBody().front().getTerminator();
  if (index >= end->getNumOperands()) {
    return refuse(entry) << "has no output to train by";
  }
  Value output = end->getOperand(index);
  SmallVector<TrainedWeight> weights = readWeights(entry, options);
  StepBuilder b(entry, "loss");
  LossScale scale = makeLossScale(b, options, symbols);
  FailureOr<Value> loss =
      addGradients(b, entry, output, scale, weights, options);
  if (failed(loss)) {
    return failure();
  }
  if (weights.empty()) {
    return refuse(entry) << "has no weight that its loss depends on";
  }
  FailureOr<Value> isSkipped =
      makeUpdates(b, entry, weights, scale, options, symbols);
  if (failed(isSkipped)) {
    return failure();
  }
  returnLoss(entry, *loss, *isSkipped);
  dropTrainingNote(module);
  return success();
}
