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

#include <cmath>

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

static constexpr StringLiteral kOptimizers[] = {"sgd", "adam", "adamw"};

ArrayRef<StringLiteral> divisi::optimizerNames() { return kOptimizers; }

static constexpr StringLiteral kSchedules[] = {"constant", "linear", "cosine",
                                               kInputSchedule};

ArrayRef<StringLiteral> divisi::scheduleNames() { return kSchedules; }

namespace {

/// The updates of one step.
class Updates {
public:
  /// `rate` is a number of f64; null where it is no input.
  Updates(StepBuilder &b, const LossScale &scale, const TrainOptions &options,
          SymbolTable &symbols, Value rate)
      : b_(b), o_(options), scale_(scale), symbols_(symbols),
        f32_(b.builder().getF32Type()), f64_(b.builder().getF64Type()),
        rate_(rate) {}

  void run(MutableArrayRef<TrainedWeight> weights);
  /// Null where steps are not skipped.
  Value isSkipped();

private:
  void unscale(MutableArrayRef<TrainedWeight> weights);
  void findFinite(ArrayRef<TrainedWeight> weights);
  void changeScale();
  void clip(MutableArrayRef<TrainedWeight> weights);
  bool isScheduled() const;
  void countSteps();
  Value scheduledRate(Value step);
  StepState stateOf(const TrainedWeight &weight, StringRef suffix);
  void update(nn::GlobalOp global, Value before, Value value);
  Value blend(Value before, double kept, Value now);
  void stepBySgd(TrainedWeight &weight);
  void stepByAdam(TrainedWeight &weight);

  StepBuilder &b_;
  const TrainOptions &o_;
  const LossScale &scale_;
  SymbolTable &symbols_;
  Type f32_, f64_;
  Value isFinite_; ///< All gradients; null where that is not asked for.
  Value rate_;     ///< f64; null where it is the option's in all steps.
  /// Of Adam, in f64: rate / (1 - beta1^t), and sqrt(1 - beta2^t).
  Value size_, root_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// In f64, where powers of two are exact.
LossScale autodiff::makeLossScale(StepBuilder &b, const TrainOptions &options,
                                  SymbolTable &symbols) {
  LossScale scale;
  if (options.lossScale > 0) {
    Type wide = b.builder().getF64Type();
    scale.exponent = makeState(b, "optimizer.scale_exponent",
                               RankedTensorType::get({}, wide), symbols);
    Value power = b.emit<nn::PowOp>(b.number(2, wide), scale.exponent.before);
    scale.factor =
        b.cast(b.mul(power, options.lossScale), b.builder().getF32Type());
  }
  return scale;
}

void Updates::unscale(MutableArrayRef<TrainedWeight> weights) {
  Value inverse = b_.div(b_.number(1, f32_), scale_.factor);
  for (TrainedWeight &weight : weights) {
    Type element = getElementTypeOrSelf(weight.gradient.getType());
    weight.gradient = b_.mul(weight.gradient, b_.cast(inverse, element));
  }
}

void Updates::findFinite(ArrayRef<TrainedWeight> weights) {
  Value isAny;
  for (const TrainedWeight &weight : weights) {
    Value g = weight.gradient;
    Value bad =
        b_.emit<nn::OrOp>(b_.emit<nn::IsNanOp>(g), b_.emit<nn::IsInfOp>(g));
    bad = b_.reduceAll("or", bad);
    isAny = isAny ? b_.emit<nn::OrOp>(isAny, bad) : bad;
  }
  isFinite_ = b_.emit<nn::NotOp>(isAny);
}

/// As PyTorch's GradScaler does.
void Updates::changeScale() {
  constexpr double kGrowAfter = 2000;
  auto scalar = RankedTensorType::get({}, f64_);
  StepState good = makeState(b_, "optimizer.scale_steps", scalar, symbols_);
  Value one = b_.number(1, f64_), zero = b_.number(0, f64_);
  Value more = b_.add(good.before, one);
  Value grows = b_.compare("ge", more, b_.number(kGrowAfter, f64_));
  Value before = scale_.exponent.before;
  Value up = b_.emit<nn::SelectOp>(grows, b_.add(before, one), before);
  Value exponent = b_.emit<nn::SelectOp>(isFinite_, up, b_.sub(before, one));
  Value steps = b_.emit<nn::SelectOp>(
      isFinite_, b_.emit<nn::SelectOp>(grows, zero, more), zero);
  for (auto [state, value] :
       {std::pair(scale_.exponent, exponent), std::pair(good, steps)}) {
    nn::UpdateOp::create(b_.builder(), b_.location(),
                         FlatSymbolRefAttr::get(state.global), value);
  }
}

/// All gradients have one norm; PyTorch adds 1e-6 to it.
void Updates::clip(MutableArrayRef<TrainedWeight> weights) {
  Value total;
  for (const TrainedWeight &weight : weights) {
    Value g = b_.cast(weight.gradient, f32_), sum = b_.sumAll(b_.mul(g, g));
    total = total ? b_.add(total, sum) : sum;
  }
  Value norm = b_.emit<nn::SqrtOp>(total);
  Value factor =
      b_.div(b_.number(o_.clipNorm, f32_), b_.add(norm, b_.number(1e-6, f32_)));
  factor = b_.emit<nn::MinOp>(factor, b_.number(1, f32_));
  for (TrainedWeight &weight : weights) {
    Type element = getElementTypeOrSelf(weight.gradient.getType());
    weight.gradient = b_.mul(weight.gradient, b_.cast(factor, element));
  }
}

//===----------------------------------------------------------------------===//
// The number of the step
//===----------------------------------------------------------------------===//

/// Whether the rate depends on the number of the step.
bool Updates::isScheduled() const {
  return !rate_ && (o_.schedule != "constant" || o_.warmup > 0);
}

/// Of the step after `step` others, as transformers' schedules of these names:
/// through the warm-up it rises from 0, then it falls to 0.
Value Updates::scheduledRate(Value step) {
  Value one = b_.number(1, f64_), factor = one;
  if (o_.schedule != "constant") {
    double warmup = double(o_.warmup);
    double rest = std::max(double(o_.steps) - warmup, 1.0);
    Value past =
        b_.div(b_.sub(step, b_.number(warmup, f64_)), b_.number(rest, f64_));
    past = b_.emit<nn::MinOp>(past, one);
    if (o_.schedule == "linear") {
      factor = b_.sub(one, past);
    } else {
      Value wave = b_.emit<nn::CosOp>(b_.mul(past, M_PI));
      factor = b_.mul(b_.add(one, wave), 0.5);
    }
  }
  if (o_.warmup > 0) {
    Value isEarly = b_.compare("lt", step, b_.number(double(o_.warmup), f64_));
    Value risen = b_.div(step, b_.number(double(o_.warmup), f64_));
    factor = b_.emit<nn::SelectOp>(isEarly, risen, factor);
  }
  return b_.mul(factor, o_.rate);
}

/// Counts in f64: the powers of betas, which are near 1, need it.
void Updates::countSteps() {
  StepState steps = makeState(b_, "optimizer.steps",
                              RankedTensorType::get({}, f64_), symbols_);
  Value one = b_.number(1, f64_), step = b_.add(steps.before, one);
  update(steps.global, steps.before, step);
  if (isScheduled()) {
    rate_ = scheduledRate(steps.before);
  }
  if (o_.optimizer != "sgd") {
    auto bias = [&](double beta) {
      return b_.sub(one, b_.emit<nn::PowOp>(b_.number(beta, f64_), step));
    };
    Value rate = rate_ ? rate_ : b_.number(o_.rate, f64_);
    size_ = b_.div(rate, bias(o_.beta1));
    root_ = b_.emit<nn::SqrtOp>(bias(o_.beta2));
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

StepState Updates::stateOf(const TrainedWeight &weight, StringRef suffix) {
  nn::GlobalOp global = weight.global;
  return makeState(b_, (global.getSymName() + "." + suffix).str(),
                   global.getTensorType(), symbols_, global);
}

void Updates::update(nn::GlobalOp global, Value before, Value value) {
  if (isFinite_) {
    value = b_.emit<nn::SelectOp>(isFinite_, value, before);
  }
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
    StepState before = stateOf(weight, "momentum");
    Value gradient = step;
    Value velocity = b_.add(b_.mul(before.before, o_.momentum), gradient);
    update(before.global, before.before, velocity);
    step = o_.nesterov ? b_.add(gradient, b_.mul(velocity, o_.momentum))
                       : velocity;
  }
  Type element = getElementTypeOrSelf(w.getType());
  Value rate = rate_ ? b_.cast(rate_, element) : b_.number(o_.rate, element);
  update(weight.global, w, b_.sub(w, b_.mul(step, rate)));
}

void Updates::stepByAdam(TrainedWeight &weight) {
  Value w = weight.value, g = weight.gradient;
  Type element = getElementTypeOrSelf(w.getType());
  bool decays = weight.decays && o_.weightDecay != 0;
  if (decays && o_.optimizer == "adamw" && rate_) {
    Value kept = b_.sub(b_.number(1, f64_), b_.mul(rate_, o_.weightDecay));
    w = b_.mul(w, b_.cast(kept, element));
  } else if (decays && o_.optimizer == "adamw") {
    w = b_.mul(w, 1 - o_.rate * o_.weightDecay);
  } else if (decays) {
    g = b_.add(g, b_.mul(w, o_.weightDecay));
  }
  StepState first = stateOf(weight, "mean");
  Value mean = blend(first.before, o_.beta1, g);
  update(first.global, first.before, mean);
  StepState second = stateOf(weight, "square");
  Value square = blend(second.before, o_.beta2, b_.mul(g, g));
  update(second.global, second.before, square);
  Value root = b_.div(b_.emit<nn::SqrtOp>(square), b_.cast(root_, element));
  Value below = b_.add(root, b_.numberLike(o_.epsilon, root));
  Value step = b_.mul(b_.div(mean, below), b_.cast(size_, element));
  update(weight.global, weight.value, b_.sub(w, step));
}

Value Updates::isSkipped() {
  return isFinite_ ? b_.emit<nn::NotOp>(isFinite_) : Value();
}

void Updates::run(MutableArrayRef<TrainedWeight> weights) {
  b_.setName("gradients");
  if (scale_.factor) {
    unscale(weights);
  }
  if (o_.skipNonfinite || scale_.factor) {
    findFinite(weights);
  }
  if (scale_.factor) {
    changeScale();
  }
  if (o_.clipNorm > 0) {
    b_.setName("clip");
    clip(weights);
  }
  bool isSgd = o_.optimizer == "sgd";
  b_.setName(o_.optimizer);
  if (!isSgd || isScheduled()) {
    countSteps();
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

FailureOr<Value> autodiff::makeUpdates(StepBuilder &b, func::FuncOp function,
                                       MutableArrayRef<TrainedWeight> weights,
                                       const LossScale &scale,
                                       const TrainOptions &options,
                                       SymbolTable &symbols) {
  FailureOr<Value> rate{Value()};
  if (options.schedule == kInputSchedule) {
    auto type = RankedTensorType::get({}, b.builder().getF64Type());
    rate = addInput(function, type, kRateInput,
                    "rename it, or take another --lr-schedule");
    if (failed(rate)) {
      return failure();
    }
  }
  Updates updates(b, scale, options, symbols, *rate);
  updates.run(weights);
  return updates.isSkipped();
}
