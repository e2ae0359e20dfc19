//===- Losses.cpp - Losses with their gradients ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A loss is a mean, and its gradient is written down with it: that of cross
// entropy is a function of single elements and of one number for each row, so
// logits never travel, however their classes are split.
//
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

namespace {

/// What a loss is made of.
struct LossParts {
  StepBuilder &b;
  Value x, labels; ///< In f32 or f64; labels of numbers are, too.
  Value all;       ///< Labels of all micro-batches, of which this is one.
  const TrainOptions &options;

  /// How many elements all labels have, as a number like `x`.
  Value count() const {
    auto type = cast<RankedTensorType>(all.getType());
    return b.numberLike(double(type.getNumElements()), x);
  }
  /// `terms` summed and divided by `divisor`.
  Value mean(Value terms, Value divisor) const {
    return b.div(b.sumAll(terms), divisor);
  }
};

/// One that a user can name.
struct LossRow {
  StringLiteral name;
  bool hasClasses; ///< Labels are numbers of classes, of the dims before.
  Loss (*make)(const LossParts &parts);
};

} // namespace

static Loss meanSquare(const LossParts &p) {
  Value difference = p.b.sub(p.x, p.labels);
  return {p.mean(p.b.mul(difference, difference), p.count()),
          p.b.div(p.b.mul(difference, 2), p.count())};
}

static Loss meanAbsolute(const LossParts &p) {
  Value difference = p.b.sub(p.x, p.labels);
  return {p.mean(p.b.emit<nn::AbsOp>(difference), p.count()),
          p.b.div(p.b.emit<nn::SignOp>(difference), p.count())};
}

/// max(x, 0) - x*t + log(1 + exp(-|x|)), which overflows nowhere.
static Loss binaryCrossEntropy(const LossParts &p) {
  Value small =
      p.b.emit<nn::ExpOp>(p.b.emit<nn::NegOp>(p.b.emit<nn::AbsOp>(p.x)));
  Value rest = p.b.emit<nn::LogOp>(p.b.add(p.b.numberLike(1, small), small));
  Value linear = p.b.sub(p.b.emit<nn::ReluOp>(p.x), p.b.mul(p.x, p.labels));
  Value slope = p.b.sub(p.b.emit<nn::SigmoidOp>(p.x), p.labels);
  return {p.mean(p.b.add(linear, rest), p.count()), p.b.div(slope, p.count())};
}

/// log(sum(exp(x))) along the last dim, which stays as 1.
static Value logSumExp(StepBuilder &b, Value x) {
  Value most = b.reduceLast("max", x, true);
  Value sum = b.reduceLast("sum", b.emit<nn::ExpOp>(b.sub(x, most)), true);
  return b.add(most, b.emit<nn::LogOp>(sum));
}

/// The distance of the distribution that `x` are logits of from the labels,
/// mean over positions.
static Loss divergence(const LossParts &p) {
  ArrayRef<int64_t> shape = nn::globalShape(p.all.getType());
  int64_t positions = 1;
  for (int64_t extent : shape.drop_back()) {
    positions *= extent;
  }
  Value count = p.b.numberLike(double(positions), p.x);
  Value sum = logSumExp(p.b, p.x);
  Value zero = p.b.numberLike(0, p.x), one = p.b.numberLike(1, p.x);
  Value isAny = p.b.compare("gt", p.labels, zero);
  Value own = p.b.emit<nn::LogOp>(p.b.emit<nn::SelectOp>(isAny, p.labels, one));
  Value terms = p.b.mul(p.labels, p.b.sub(p.b.add(own, sum), p.x));
  Value share = p.b.mul(p.b.emit<nn::ExpOp>(p.b.sub(p.x, sum)),
                        p.b.reduceLast("sum", p.labels, true));
  return {p.mean(terms, count), p.b.div(p.b.sub(share, p.labels), count)};
}

/// Classes of labels, with a last dim of 1: 0 for one that does not count;
/// other negative ones, which are no classes, lie so far below that no index
/// counted from the end is meant.
static Value classesOf(StepBuilder &b, Value labels, Value kept,
                       int64_t classes) {
  Value zero = b.numberLike(0, labels);
  Value isBad = b.compare("lt", labels, zero);
  Value below = b.sub(labels, b.numberLike(double(classes), labels));
  Value checked = b.emit<nn::SelectOp>(isBad, below, labels);
  return b.withLast(b.emit<nn::SelectOp>(kept, checked, zero));
}

/// Where along a last dim of `classes` the label is. The numbers of classes are
/// one row, and of f32 where that has them all: as wide as what they choose
/// between, so that one kernel makes the gradient of the logits.
static Value isClass(StepBuilder &b, Value label, int64_t classes) {
  auto type =
      RankedTensorType::get({classes}, getElementTypeOrSelf(label.getType()));
  Value numbers = b.emit<nn::IotaOp>(type, int64_t(0));
  constexpr int64_t exact = int64_t(1) << 24;
  if (classes <= exact) {
    Type f32 = Float32Type::get(type.getContext());
    return b.compare("eq", b.cast(numbers, f32), b.cast(label, f32));
  }
  return b.compare("eq", numbers, label);
}

/// The mean over labels that count of -log(softmax(x)[label]). With smoothing
/// e the label counts 1-e, and all classes together e.
static Loss crossEntropy(const LossParts &p) {
  StepBuilder &b = p.b;
  auto type = cast<RankedTensorType>(p.x.getType());
  int64_t classes = type.getShape().back(), last = type.getRank() - 1;
  double smoothing = p.options.labelSmoothing;
  auto counts = [&](Value labels) {
    return b.compare("ne", labels,
                     b.numberLike(double(p.options.ignoreIndex), labels));
  };
  Value kept = counts(p.labels);
  Value count = b.sumAll(b.cast(counts(p.all), type.getElementType()));
  Value label = classesOf(b, p.labels, kept, classes);
  Value own = b.emit<nn::TakeAlongOp>(p.x, label, last);
  Value sum = logSumExp(b, p.x), target = own;
  if (smoothing != 0) {
    Value all =
        b.mul(b.reduceLast("sum", p.x, true), smoothing / double(classes));
    target = b.add(b.mul(own, 1 - smoothing), all);
  }
  Value keptRows = b.withLast(kept);
  Value rows = b.keepWhere(keptRows, b.sub(sum, target));

  Value weight = b.keepWhere(keptRows, b.div(b.numberLike(1, count), count));
  Value is = isClass(b, label, classes);
  Value mine = b.emit<nn::SelectOp>(
      is, b.numberLike(1 - smoothing + smoothing / double(classes), p.x),
      b.numberLike(smoothing / double(classes), p.x));
  Value slope = b.sub(b.emit<nn::ExpOp>(b.sub(p.x, sum)), mine);
  return {p.mean(rows, count), b.mul(slope, weight)};
}

static constexpr LossRow kLosses[] = {
    {"cross_entropy", true, crossEntropy},
    {"mse", false, meanSquare},
    {"l1", false, meanAbsolute},
    {"bce", false, binaryCrossEntropy},
    {"kl", false, divergence},
};

static constexpr StringLiteral kOutput = "output";
static constexpr StringLiteral kLossNames[] = {"cross_entropy", "mse", "l1",
                                               "bce",           "kl",  kOutput};

ArrayRef<StringLiteral> divisi::lossNames() { return kLossNames; }

/// The argument for labels, before those that others add.
static FailureOr<Value> addLabels(func::FuncOp function, Type type,
                                  const std::string &name) {
  return addInput(function, type, name,
                  "give --labels another name, or --loss output if the model "
                  "computes its loss");
}

/// Labels one position later; the last of each row does not count.
static Value shifted(StepBuilder &b, Value labels, const TrainOptions &o) {
  SmallVector<int64_t> limits(nn::globalShape(labels.getType()));
  SmallVector<int64_t> starts(limits.size()), steps(limits.size(), 1);
  SmallVector<int64_t> lo(limits.size()), hi(limits.size());
  starts.back() = hi.back() = std::min<int64_t>(limits.back(), 1);
  Value later = b.emit<nn::SliceOp>(labels, starts, limits, steps);
  return b.emit<nn::PadOp>(later, lo, hi, double(o.ignoreIndex));
}

/// The model computes its loss itself; that of batches is their mean.
static FailureOr<Loss> ownLoss(StepBuilder &b, func::FuncOp function, Value x,
                               int64_t batches) {
  auto type = cast<RankedTensorType>(x.getType());
  if (type.getNumElements() != 1) {
    return refuse(function)
           << "has an output of type " << type
           << " for its loss, expected one number; --loss-of names the output";
  }
  Value loss = b.emit<nn::ReshapeOp>(x, ArrayRef<int64_t>());
  if (batches > 1) {
    loss = b.div(loss, b.numberLike(double(batches), loss));
  }
  Value part = b.emit<nn::ReshapeOp>(b.numberLike(1 / double(batches), x),
                                     type.getShape());
  return Loss{loss, part};
}

FailureOr<Loss> autodiff::makeLoss(StepBuilder &b, func::FuncOp function,
                                   MicroBatches &batches, Value x,
                                   const TrainOptions &options) {
  auto type = cast<RankedTensorType>(x.getType());
  if (!isa<FloatType>(type.getElementType())) {
    return refuse(function) << "has an output of type " << type
                            << ", expected floats to train by; "
                               "--loss-of names the output";
  }
  if (options.loss == kOutput) {
    return ownLoss(b, function, x, batches.count());
  }
  const LossRow *row = llvm::find_if(
      kLosses, [&](const LossRow &r) { return r.name == options.loss; });
  bool needsDims = row->hasClasses || options.loss == "kl";
  int64_t leading = int64_t(type.getRank()) - 1;
  if (needsDims && (leading < 0 || type.getShape().back() == 0)) {
    return refuse(function) << "has an output of type " << type
                            << ", expected classes in its last dim";
  }
  if (options.shiftLabels && leading < 2) {
    return refuse(function)
           << "has no positions between batch and classes in its output of "
              "type "
           << type << ", which --shift-labels is for";
  }
  Type wide = type.getElementType().isF64() ? type.getElementType()
                                            : b.builder().getF32Type();
  RankedTensorType labels =
      row->hasClasses ? RankedTensorType::get(type.getShape().drop_back(),
                                              b.builder().getI64Type())
                      : type.clone(wide);
  if (batches.count() > 1 && labels.getRank() == 0) {
    return refuse(function)
           << "has an output of type " << type
           << ", which has no batch to take several of in a step";
  }
  FailureOr<Value> given =
      addLabels(function, batches.wholeOf(labels), options.labels);
  if (failed(given)) {
    return failure();
  }
  Value used = options.shiftLabels ? shifted(b, *given, options) : *given;
  Value own = batches.first(b.builder(), used);
  Loss loss = row->make({b, b.cast(x, wide), own, used, options});
  loss.gradient = b.cast(loss.gradient, type.getElementType());
  return loss;
}
