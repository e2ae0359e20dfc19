//===- TrainingTest.cpp - Steps of training -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The model is one weight, which is its output, too. In f64 what a step makes
// of it is compared with the loss and the optimizer written down here: the
// gradients with differences of losses, the updates with PyTorch's formulas.
//
//===----------------------------------------------------------------------===//

#include "test/Autodiff/AutodiffTest.h"

#include "dialects/NN/NN.h"
#include "divisi/Autodiff/Gradients.h"
#include "divisi/Autodiff/Training.h"
#include "divisi/Evaluate/Evaluator.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace divisi;
using Numbers = std::vector<double>;

namespace {

class TrainingTest : public AutodiffTest {};

/// A model of one weight, and its steps.
class OneWeight {
public:
  OneWeight(mlir::MLIRContext &context, rt::Dims dims, TrainOptions options)
      : dims_(std::move(dims)) {
    std::string type = "tensor<";
    for (int64_t extent : dims_) {
      type += std::to_string(extent) + "x";
    }
    type += "f64>";
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "nn.global @w parameter : " + type + "\nfunc.func @forward() -> (" +
            type + R"( {nn.name = "y"}) {
        %w = nn.read @w : )" +
            type + "\n return %w : " + type + "\n}",
        &context);
    auto weights = markTrained(*module_, store_, options);
    EXPECT_TRUE(weights) << weights.status().message();
    auto noted = notedTraining(*module_);
    EXPECT_TRUE(noted) << noted.status().message();
    EXPECT_TRUE(mlir::succeeded(makeTrainingStep(*module_, *noted)));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module_)));
    globals_.emplace(*module_, store_);
  }

  void set(const Numbers &w) {
    globals_->write("w", *rt::HostTensor::copyOf(rt::DType::F64, dims_,
                                                 std::as_bytes(std::span(w))));
  }
  Numbers weight() { return globals_->read("w")->toFloats(); }
  double state(const char *name) { return globals_->read(name)->floatAt(0); }
  /// The loss; the weight changes.
  double step(const rt::HostTensor &labels) {
    auto function = module_->lookupSymbol<mlir::func::FuncOp>(kTrainStep);
    auto results = evaluateFunction(function, {labels}, *globals_);
    EXPECT_TRUE(results) << results.status().message();
    return results->front().floatAt(0);
  }

private:
  rt::Dims dims_;
  GlobalStore store_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::optional<GlobalValues> globals_;
};

} // namespace

static rt::HostTensor numbers(rt::Dims dims, const Numbers &values) {
  return *rt::HostTensor::copyOf(rt::DType::F64, std::move(dims),
                                 std::as_bytes(std::span(values)));
}

/// So that a step moves the weight by its gradient.
static TrainOptions plain(const char *loss) {
  TrainOptions options;
  options.loss = loss;
  options.optimizer = "sgd";
  options.rate = 1;
  return options;
}

/// The loss at `w` is `expected`, and a step moves it by what differences say.
static void checkLoss(OneWeight &model, const Numbers &w,
                      const rt::HostTensor &labels, double expected) {
  model.set(w);
  EXPECT_NEAR(model.step(labels), expected, 1e-12);
  Numbers moved = model.weight();
  for (size_t i = 0; i != w.size(); ++i) {
    constexpr double h = 1e-5;
    double losses[2];
    for (int side : {0, 1}) {
      Numbers near = w;
      near[i] += side ? h : -h;
      model.set(near);
      losses[side] = model.step(labels);
    }
    EXPECT_NEAR(w[i] - moved[i], (losses[1] - losses[0]) / 2 / h, 1e-8) << i;
  }
}

static const Numbers kLogits = {0.3, -1.2, 2.0, 0.1, 0.7, -0.4,
                                1.5, 0.2,  0.9, -2., 0.4, 0.6};

/// -log(softmax(row)[label]), and the mean over all classes.
static double distanceTo(const double *row, int64_t classes, int64_t label,
                         double smoothing) {
  double sum = 0, all = 0;
  for (int64_t c = 0; c != classes; ++c) {
    sum += std::exp(row[c]);
    all += row[c] / double(classes);
  }
  return std::log(sum) - (1 - smoothing) * row[label] - smoothing * all;
}

TEST_F(TrainingTest, CrossEntropyIsTheMeanOfWhatCounts) {
  TrainOptions options = plain("cross_entropy");
  for (double smoothing : {0.0, 0.1}) {
    options.labelSmoothing = smoothing;
    OneWeight model(context_, {2, 2, 3}, options);
    auto labels = rt::HostTensor::ofInts({2, 2}, {2, 0, -100, 1});
    double expected = (distanceTo(&kLogits[0], 3, 2, smoothing) +
                       distanceTo(&kLogits[3], 3, 0, smoothing) +
                       distanceTo(&kLogits[9], 3, 1, smoothing)) /
                      3;
    checkLoss(model, kLogits, labels, expected);
  }
}

TEST_F(TrainingTest, ShiftedLabelsAreThoseOfTheNextPosition) {
  TrainOptions options = plain("cross_entropy");
  options.shiftLabels = true;
  options.ignoreIndex = 7;
  OneWeight model(context_, {2, 2, 3}, options);
  auto labels = rt::HostTensor::ofInts({2, 2}, {2, 0, 0, 1});
  checkLoss(
      model, kLogits, labels,
      (distanceTo(&kLogits[0], 3, 0, 0) + distanceTo(&kLogits[6], 3, 1, 0)) /
          2);
}

// Large logits overflow nowhere, and no label that counts gives NaN.
TEST_F(TrainingTest, CrossEntropyAtItsBorders) {
  OneWeight model(context_, {2, 2}, plain("cross_entropy"));
  model.set({1000, 0, 0, -1000});
  EXPECT_EQ(model.step(rt::HostTensor::ofInts({2}, {0, 0})), 0);
  model.set({1, 2, 3, 4});
  EXPECT_TRUE(
      std::isnan(model.step(rt::HostTensor::ofInts({2}, {-100, -100}))));
}

TEST_F(TrainingTest, OtherLossesAreMeansOfElements) {
  Numbers w = {0.5, -1.5, 2}, t = {1, 0, 0.25};
  double mse = 0, l1 = 0, bce = 0, kl = 0, sum = 0;
  for (double x : w) {
    sum += std::exp(x);
  }
  for (size_t i = 0; i != 3; ++i) {
    double d = w[i] - t[i], s = 1 / (1 + std::exp(-w[i]));
    mse += d * d / 3;
    l1 += std::abs(d) / 3;
    bce -= (t[i] * std::log(s) + (1 - t[i]) * std::log(1 - s)) / 3;
    kl += t[i] == 0 ? 0 : t[i] * (std::log(t[i]) - w[i] + std::log(sum));
  }
  std::pair<const char *, double> rows[] = {
      {"mse", mse}, {"l1", l1}, {"bce", bce}, {"kl", kl}};
  for (auto [loss, expected] : rows) {
    SCOPED_TRACE(loss);
    OneWeight model(context_, {1, 3}, plain(loss));
    checkLoss(model, w, numbers({1, 3}, t), expected);
  }
}

/// Three steps down mse, of which the gradients are 2 (w - t) / n.
static Numbers stepsOf(mlir::MLIRContext &context, const TrainOptions &options,
                       Numbers w, const Numbers &t) {
  OneWeight model(context, {int64_t(w.size())}, options);
  model.set(w);
  for (int i = 0; i != 3; ++i) {
    model.step(numbers({int64_t(t.size())}, t));
  }
  return model.weight();
}

static void expectNear(const Numbers &a, const Numbers &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i != a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-12);
  }
}

TEST_F(TrainingTest, SgdAsInPyTorch) {
  for (bool nesterov : {false, true}) {
    TrainOptions options = plain("mse");
    options.rate = 0.1;
    options.momentum = 0.9;
    options.nesterov = nesterov;
    options.weightDecay = 0.2;
    options.clipNorm = 0.5;
    Numbers w = {1, -2, 0.5}, t = {0.5, 1, 2}, v(3);
    Numbers after = stepsOf(context_, options, w, t);
    for (int i = 0; i != 3; ++i) {
      Numbers g(3);
      double norm = 0;
      for (size_t n = 0; n != 3; ++n) {
        g[n] = 2 * (w[n] - t[n]) / 3;
        norm += g[n] * g[n];
      }
      // The norm is of f32.
      float root = std::sqrt(float(norm));
      double factor = std::min(1.f, 0.5f / (root + 1e-6f));
      for (size_t n = 0; n != 3; ++n) {
        g[n] = g[n] * factor + 0.2 * w[n];
        v[n] = 0.9 * v[n] + g[n];
        w[n] -= 0.1 * (nesterov ? g[n] + 0.9 * v[n] : v[n]);
      }
    }
    for (size_t n = 0; n != 3; ++n) {
      EXPECT_NEAR(after[n], w[n], 1e-6);
    }
  }
}

TEST_F(TrainingTest, AdamAsInPyTorch) {
  for (bool decoupled : {false, true}) {
    TrainOptions options = plain("mse");
    options.optimizer = decoupled ? "adamw" : "adam";
    options.rate = 0.1;
    options.weightDecay = 0.3;
    Numbers w = {1, -2, 0.5}, t = {0.5, 1, 2}, m(3), v(3);
    Numbers after = stepsOf(context_, options, w, t);
    for (int i = 1; i <= 3; ++i) {
      for (size_t n = 0; n != 3; ++n) {
        double g = 2 * (w[n] - t[n]) / 3;
        g += decoupled ? 0 : 0.3 * w[n];
        w[n] *= decoupled ? 1 - 0.1 * 0.3 : 1;
        m[n] = 0.9 * m[n] + 0.1 * g;
        v[n] = 0.999 * v[n] + 0.001 * g * g;
        double root = std::sqrt(v[n]) / std::sqrt(1 - std::pow(0.999, i));
        w[n] -= 0.1 / (1 - std::pow(0.9, i)) * m[n] / (root + 1e-8);
      }
    }
    expectNear(after, w);
  }
}

TEST_F(TrainingTest, WhatIsNamedDoesNotDecay) {
  TrainOptions options = plain("mse");
  options.weightDecay = 0.5;
  options.noDecay = {"w"};
  expectNear(stepsOf(context_, options, {1}, {1}), {1});
}

TEST_F(TrainingTest, RatesRiseAndFallAsInTransformers) {
  for (const char *schedule : {"constant", "linear", "cosine"}) {
    SCOPED_TRACE(schedule);
    TrainOptions options = plain("mse");
    options.schedule = schedule;
    options.warmup = 2;
    options.steps = 6;
    OneWeight model(context_, {1}, options);
    std::string name = schedule;
    for (int step = 0; step != 8; ++step) {
      double past = std::min((step - 2) / 4.0, 1.0), factor = 1;
      factor = name == "linear"   ? 1 - past
               : name == "cosine" ? (1 + std::cos(M_PI * past)) / 2
                                  : 1;
      factor = step < 2 ? step / 2.0 : factor;
      model.set({3});
      model.step(numbers({1}, {1}));
      EXPECT_NEAR(model.weight().front(), 3 - factor * 4, 1e-12) << step;
    }
  }
}

TEST_F(TrainingTest, DecayFollowsTheRate) {
  TrainOptions options = plain("mse");
  options.optimizer = "adamw";
  options.weightDecay = 0.5;
  options.warmup = 4;
  OneWeight model(context_, {1}, options);
  model.set({1});
  // The first step has the rate 0, the second a quarter; there is no gradient.
  for (double expected : {1.0, 1 - 0.25 * 0.5}) {
    model.step(numbers({1}, {1}));
    EXPECT_NEAR(model.weight().front(), expected, 1e-12);
  }
}

TEST_F(TrainingTest, StepsThatAreNotFiniteChangeNothing) {
  for (const char *optimizer : {"sgd", "adamw"}) {
    TrainOptions options = plain("mse");
    options.optimizer = optimizer;
    options.rate = 0.25;
    options.skipNonfinite = true;
    OneWeight plainly(context_, {1}, options), skipping(context_, {1}, options);
    plainly.set({3});
    skipping.set({3});
    for (double label : {1.0, double(NAN), 2.0, double(INFINITY), 0.5}) {
      auto labels = numbers({1}, {label});
      EXPECT_EQ(std::isfinite(skipping.step(labels)), std::isfinite(label));
      if (std::isfinite(label)) {
        plainly.step(labels);
      }
      EXPECT_EQ(skipping.weight(), plainly.weight());
    }
  }
}

TEST_F(TrainingTest, LossesAreScaledUntilGradientsAreNotFinite) {
  TrainOptions options = plain("mse");
  options.lossScale = 1024;
  options.rate = 0.25;
  OneWeight model(context_, {1}, options);
  model.set({3});
  auto labels = numbers({1}, {1});
  EXPECT_EQ(model.step(labels), 4);
  expectNear(model.weight(), {2});
  EXPECT_EQ(model.state("optimizer.scale_steps"), 1);
  model.step(numbers({1}, {NAN}));
  expectNear(model.weight(), {2});
  EXPECT_EQ(model.state("optimizer.scale_steps"), 0);
  EXPECT_EQ(model.state("optimizer.scale_exponent"), -1);
  for (int step = 0; step != 2000; ++step) {
    model.step(labels);
  }
  EXPECT_EQ(model.state("optimizer.scale_steps"), 0);
  EXPECT_EQ(model.state("optimizer.scale_exponent"), 0);
  EXPECT_NEAR(model.weight().front(), 1, 1e-6);
}
