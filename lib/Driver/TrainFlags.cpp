//===- TrainFlags.cpp - Flags of training steps ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainFlags.h"

#include "ActsOn.h"

#include <functional>

using namespace llvm;
using namespace divisi;

static constexpr char kNames[] = "NAME,...";

TrainFlags::TrainFlags(cl::SubCommand &verb)
    : train("train", cl::sub(verb), on(ActsOn::Train),
            cl::desc("make a training step of the model")),
      loss("loss", cl::sub(verb), on(ActsOn::Train),
           cl::value_desc("cross_entropy|mse|l1|bce|kl|output"),
           cl::desc("what is trained by; output: what the model computes")),
      lossOf("loss-of", cl::sub(verb), on(ActsOn::Train),
             cl::value_desc("OUTPUT"),
             cl::desc("the output that --loss is of (default: the first)")),
      labels("labels", cl::sub(verb), on(ActsOn::Train), cl::value_desc("NAME"),
             cl::init("labels"), cl::desc("the name of the input for labels")),
      shiftLabels("shift-labels", cl::sub(verb), on(ActsOn::Train),
                  cl::desc("each position predicts the label of the next")),
      ignoreIndex("ignore-index", cl::sub(verb), on(ActsOn::Train),
                  cl::value_desc("N"), cl::init(-100),
                  cl::desc("labels that do not count")),
      labelSmoothing("label-smoothing", cl::sub(verb), on(ActsOn::Train),
                     cl::value_desc("X"), cl::init(0),
                     cl::desc("the part of a label that all classes share")),
      optimizer("optimizer", cl::sub(verb), on(ActsOn::Train),
                cl::value_desc("sgd|adam|adamw"),
                cl::desc("how weights are updated")),
      rate("lr", cl::sub(verb), on(ActsOn::Train), cl::value_desc("X"),
           cl::desc("the learning rate")),
      momentum("momentum", cl::sub(verb), on(ActsOn::Train),
               cl::value_desc("X"), cl::desc("of sgd (default: 0)")),
      nesterov("nesterov", cl::sub(verb), on(ActsOn::Train),
               cl::desc("with --momentum: Nesterov's")),
      beta1("beta1", cl::sub(verb), on(ActsOn::Train), cl::value_desc("X"),
            cl::init(0.9), cl::desc("of adam and adamw")),
      beta2("beta2", cl::sub(verb), on(ActsOn::Train), cl::value_desc("X"),
            cl::init(0.999), cl::desc("of adam and adamw")),
      epsilon("epsilon", cl::sub(verb), on(ActsOn::Train), cl::value_desc("X"),
              cl::init(1e-8), cl::desc("of adam and adamw")),
      weightDecay("weight-decay", cl::sub(verb), on(ActsOn::Train),
                  cl::value_desc("X"),
                  cl::desc("how much weights decay (default: 0.01 with adamw, "
                           "which decouples it from gradients, else 0)")),
      schedule("lr-schedule", cl::sub(verb), on(ActsOn::Train),
               cl::value_desc("constant|linear|cosine|input"),
               cl::init("constant"),
               cl::desc("how the learning rate falls; input: each run is "
                        "given it, as 'lr'")),
      warmup("lr-warmup", cl::sub(verb), on(ActsOn::Train), cl::value_desc("N"),
             cl::init(0),
             cl::desc("the steps in which it rises from 0 (default: 0)")),
      steps("lr-steps", cl::sub(verb), on(ActsOn::Train), cl::value_desc("N"),
            cl::init(0), cl::desc("the step at which it has fallen to 0")),
      lossScale("loss-scale", cl::sub(verb), on(ActsOn::Train),
                cl::value_desc("X"), cl::init(0),
                cl::desc("what gradients are scaled by at first (default: "
                         "65536 with --precision f16, else none)")),
      seed("dropout-seed", cl::sub(verb), on(ActsOn::Train),
           cl::value_desc("N"), cl::init(0),
           cl::desc("of what dropout draws (default: 0)")),
      skipNonfinite("skip-nonfinite", cl::sub(verb), on(ActsOn::Train),
                    cl::desc("steps with gradients that are not finite change "
                             "nothing")),
      clipNorm("clip-norm", cl::sub(verb), on(ActsOn::Train),
               cl::value_desc("X"),
               cl::desc("cut gradients to this common norm")),
      noDecay("no-decay", cl::sub(verb), on(ActsOn::Train),
              cl::value_desc(kNames), cl::CommaSeparated,
              cl::desc("weights that do not decay; * and ? stand for any "
                       "characters")),
      only("train-only", cl::sub(verb), on(ActsOn::Train),
           cl::value_desc(kNames), cl::CommaSeparated,
           cl::desc("weights that are trained (default: all parameters but "
                    "running statistics, masks and tables, as is told)")),
      freeze("freeze", cl::sub(verb), on(ActsOn::Train), cl::value_desc(kNames),
             cl::CommaSeparated, cl::desc("weights that are not trained")) {}

void TrainFlags::fill(GivenOptions &options) const {
  TrainOptions &given = options.training;
  options.train = train;
  given.loss = loss;
  given.lossOf = lossOf;
  given.labels = labels;
  given.shiftLabels = shiftLabels;
  given.ignoreIndex = ignoreIndex;
  given.labelSmoothing = labelSmoothing;
  given.optimizer = optimizer;
  given.momentum = momentum;
  given.nesterov = nesterov;
  given.beta1 = beta1;
  given.beta2 = beta2;
  given.epsilon = epsilon;
  given.schedule = schedule;
  given.warmup = warmup;
  given.steps = steps;
  given.lossScale = lossScale;
  given.seed = seed;
  given.skipNonfinite = skipNonfinite;
  given.clipNorm = clipNorm;
  given.noDecay = {noDecay.begin(), noDecay.end()};
  given.only = {only.begin(), only.end()};
  given.freeze = {freeze.begin(), freeze.end()};
  auto number = [](const cl::opt<double> &flag) {
    return flag.getNumOccurrences() ? std::optional<double>(flag)
                                    : std::nullopt;
  };
  options.rate = number(rate);
  options.weightDecay = number(weightDecay);
  // A list's & is that of its values.
  std::reference_wrapper<const cl::Option> all[] = {
      loss,           lossOf,    labels,  shiftLabels, ignoreIndex,
      labelSmoothing, optimizer, rate,    momentum,    nesterov,
      beta1,          beta2,     epsilon, weightDecay, clipNorm,
      schedule,       warmup,    steps,   lossScale,   seed,
      skipNonfinite,  noDecay,   only,    freeze};
  for (const cl::Option &flag : all) {
    if (flag.getNumOccurrences()) {
      options.trainFlags.push_back(("--" + flag.ArgStr).str());
    }
  }
}
