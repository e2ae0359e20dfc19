//===- Optimizers.cpp - Updates of weights --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Formulas and the order of operations are those of torch.optim. What depends
// on the number of the step alone is computed in f64, once for all weights.
//
//===----------------------------------------------------------------------===//

#include "StepBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

static constexpr StringLiteral kOptimizers[] = {"sgd", "adam", "adamw"};

ArrayRef<StringLiteral> divisi::optimizerNames() { return kOptimizers; }

namespace {

/// The updates of one step.
class Updates {
public:
  Updates(StepBuilder &b, const TrainOptions &options, SymbolTable &symbols)
      : b_(b), o_(options), symbols_(symbols) {}

  void run(MutableArrayRef<TrainedWeight> weights);

private:
  void clip(MutableArrayRef<TrainedWeight> weights);
  void countSteps(ModuleOp module);
  Value state(nn::GlobalOp of, StringRef suffix);
  void update(nn::GlobalOp global, Value value);
  Value blend(Value before, double kept, Value now);
  void stepBySgd(TrainedWeight &weight);
  void stepByAdam(TrainedWeight &weight);

  StepBuilder &b_;
  const TrainOptions &o_;
  SymbolTable &symbols_;
  /// Of Adam, in f64: rate / (1 - beta1^t), and sqrt(1 - beta2^t).
  Value size_, root_;
  llvm::SmallVector<nn::GlobalOp> made_;
};

} // namespace

/// All gradients have one norm; PyTorch adds 1e-6 to it.
void Updates::clip(MutableArrayRef<TrainedWeight> weights) {
  Value total;
  Type wide = b_.builder().getF32Type();
  for (const TrainedWeight &weight : weights) {
    Value g = b_.cast(weight.gradient, wide), sum = b_.sumAll(b_.mul(g, g));
    total = total ? b_.add(total, sum) : sum;
  }
  Value norm = b_.emit<nn::SqrtOp>(total);
  Value factor =
      b_.div(b_.number(o_.clipNorm, wide), b_.add(norm, b_.number(1e-6, wide)));
  factor = b_.emit<nn::MinOp>(factor, b_.number(1, wide));
  for (TrainedWeight &weight : weights) {
    Type element = getElementTypeOrSelf(weight.gradient.getType());
    weight.gradient = b_.mul(weight.gradient, b_.cast(factor, element));
  }
}

/// A global that begins as zeros.
Value Updates::state(nn::GlobalOp of, StringRef suffix) {
  OpBuilder builder(of);
  builder.setInsertionPointAfter(of);
  MLIRContext *context = of.getContext();
  auto global = nn::GlobalOp::create(
      builder, of.getLoc(),
      builder.getStringAttr(of.getSymName() + "." + suffix),
      nn::GlobalKindAttr::get(context, nn::GlobalKind::State),
      TypeAttr::get(of.getType()), StringAttr(), IntegerAttr(), IntegerAttr(),
      builder.getUnitAttr());
  symbols_.insert(global, builder.getInsertionPoint());
  made_.push_back(global);
  return b_.emit<nn::ReadOp>(of.getTensorType(),
                             FlatSymbolRefAttr::get(global));
}

void Updates::update(nn::GlobalOp global, Value value) {
  nn::UpdateOp::create(b_.builder(), b_.location(),
                       FlatSymbolRefAttr::get(global), value);
}

/// kept * before + (1 - kept) * now
Value Updates::blend(Value before, double kept, Value now) {
  return b_.add(b_.mul(before, kept), b_.mul(now, 1 - kept));
}

void Updates::stepBySgd(TrainedWeight &weight) {
  Value w = weight.value, step = weight.gradient;
  if (weight.decays && o_.weightDecay != 0) {
    step = b_.add(step, b_.mul(w, o_.weightDecay));
  }
  if (o_.momentum != 0) {
    Value before = state(weight.global, "momentum"), gradient = step;
    Value velocity = b_.add(b_.mul(before, o_.momentum), gradient);
    update(made_.back(), velocity);
    step = o_.nesterov ? b_.add(gradient, b_.mul(velocity, o_.momentum))
                       : velocity;
  }
  update(weight.global, b_.sub(w, b_.mul(step, o_.rate)));
}

/// Counts in f64: the powers of betas, which are near 1, need it.
void Updates::countSteps(ModuleOp module) {
  OpBuilder builder(module.getBody(), module.getBody()->begin());
  Type wide = b_.builder().getF64Type();
  auto type = RankedTensorType::get({}, wide);
  auto global = nn::GlobalOp::create(
      builder, module.getLoc(), builder.getStringAttr("optimizer.steps"),
      nn::GlobalKindAttr::get(module.getContext(), nn::GlobalKind::State),
      TypeAttr::get(type), StringAttr(), IntegerAttr(), IntegerAttr(),
      builder.getUnitAttr());
  symbols_.insert(global);
  Value before = b_.emit<nn::ReadOp>(type, FlatSymbolRefAttr::get(global));
  Value one = b_.number(1, wide), step = b_.add(before, one);
  update(global, step);
  auto bias = [&](double beta) {
    return b_.sub(one, b_.emit<nn::PowOp>(b_.number(beta, wide), step));
  };
  size_ = b_.div(b_.number(o_.rate, wide), bias(o_.beta1));
  root_ = b_.emit<nn::SqrtOp>(bias(o_.beta2));
}

void Updates::stepByAdam(TrainedWeight &weight) {
  Value w = weight.value, g = weight.gradient;
  Type element = getElementTypeOrSelf(w.getType());
  bool decays = weight.decays && o_.weightDecay != 0;
  if (decays && o_.optimizer == "adamw") {
    w = b_.mul(w, 1 - o_.rate * o_.weightDecay);
  } else if (decays) {
    g = b_.add(g, b_.mul(w, o_.weightDecay));
  }
  Value mean = blend(state(weight.global, "mean"), o_.beta1, g);
  update(made_.back(), mean);
  Value square = blend(state(weight.global, "square"), o_.beta2, b_.mul(g, g));
  update(made_.back(), square);
  Value root = b_.div(b_.emit<nn::SqrtOp>(square), b_.cast(root_, element));
  Value below = b_.add(root, b_.numberLike(o_.epsilon, root));
  Value step = b_.mul(b_.div(mean, below), b_.cast(size_, element));
  update(weight.global, b_.sub(w, step));
}

void Updates::run(MutableArrayRef<TrainedWeight> weights) {
  if (o_.clipNorm > 0) {
    b_.setName("clip");
    clip(weights);
  }
  bool isSgd = o_.optimizer == "sgd";
  b_.setName(o_.optimizer);
  if (!isSgd) {
    countSteps(weights.front().global->getParentOfType<ModuleOp>());
  }
  for (TrainedWeight &weight : weights) {
    b_.setName((o_.optimizer + "." + weight.global.getSymName()).str());
    if (isSgd) {
      stepBySgd(weight);
    } else {
      stepByAdam(weight);
    }
  }
}

void autodiff::makeUpdates(StepBuilder &b,
                           MutableArrayRef<TrainedWeight> weights,
                           const TrainOptions &options, SymbolTable &symbols) {
  Updates(b, options, symbols).run(weights);
}
