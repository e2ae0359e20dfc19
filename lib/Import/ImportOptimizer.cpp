//===- ImportOptimizer.cpp - Import of updates of weights -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of the domain ai.onnx.preview.training. A node updates n tensors:
// its inputs are the rate R, the number T of updates before this one, then n
// tensors, n gradients, and n tensors of each state; its outputs are the new
// tensors, then the new states.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

using namespace divisi;
using rt::DType;

namespace {

/// One tensor with what its update needs.
struct Update {
  Tensor x, gradient;
  std::vector<Tensor> states;
};

/// The arithmetic of one update; results have the tensor's type.
class Rule {
public:
  Rule(NodeImporter &node, DType type)
      : node_(node), emit_(node.emitter()), type_(type) {}

  Tensor number(double value) const { return emit_.scalar(type_, value); }
  /// The attribute `name`.
  Tensor constant(const char *name) const {
    return number(node_.getFloat(name, 0));
  }
  Tensor add(const Tensor &a, const Tensor &b) const {
    return emit_.binary("add", a, b);
  }
  Tensor sub(const Tensor &a, const Tensor &b) const {
    return emit_.binary("sub", a, b);
  }
  Tensor mul(const Tensor &a, const Tensor &b) const {
    return emit_.binary("mul", a, b);
  }
  Tensor div(const Tensor &a, const Tensor &b) const {
    return emit_.binary("div", a, b);
  }
  Tensor sqrt(const Tensor &a) const { return emit_.unary("sqrt", a); }
  /// The rate.
  Tensor rate() const { return emit_.cast(node_.input(0), type_); }
  /// How many updates there have been.
  Tensor count() const { return emit_.cast(node_.input(1), type_); }
  /// `later` if there has been an update, else `first`.
  Tensor afterFirst(const Tensor &later, const Tensor &first) const {
    Tensor isLater = emit_.compare("gt", count(), number(0));
    return emit_.select(isLater, later, first);
  }
  /// The gradient with that of the regularization.
  Tensor gradientOf(const Update &update) const {
    return add(mul(constant("norm_coefficient"), update.x), update.gradient);
  }
  /// 1 - base to the power of the count.
  Tensor bias(const char *base) const {
    return sub(number(1), emit_.binary("pow", constant(base), count()));
  }
  const NodeImporter &node() const { return node_; }

private:
  NodeImporter &node_;
  Emitter &emit_;
  DType type_;
};

/// Updates a tensor and its states in place.
using RuleFunction = void (*)(const Rule &rule, Update &update);

} // namespace

static void applyAdagrad(const Rule &rule, Update &update) {
  Tensor slowed = rule.add(
      rule.number(1), rule.mul(rule.count(), rule.constant("decay_factor")));
  Tensor gradient = rule.gradientOf(update);
  Tensor &squares = update.states[0];
  squares = rule.add(squares, rule.mul(gradient, gradient));
  Tensor root = rule.add(rule.sqrt(squares), rule.constant("epsilon"));
  Tensor step = rule.mul(rule.div(rule.rate(), slowed), gradient);
  update.x = rule.sub(update.x, rule.div(step, root));
}

/// Epsilon lies outside of the root, and the rate corrects the bias.
static void applyAdam(const Rule &rule, Update &update) {
  Tensor gradient = rule.gradientOf(update);
  auto blend = [&](const char *weight, const Tensor &before,
                   const Tensor &now) {
    Tensor kept = rule.constant(weight);
    return rule.add(rule.mul(kept, before),
                    rule.mul(rule.sub(rule.number(1), kept), now));
  };
  Tensor &momentum = update.states[0], &squares = update.states[1];
  momentum = blend("alpha", momentum, gradient);
  squares = blend("beta", squares, rule.mul(gradient, gradient));
  Tensor root = rule.add(rule.sqrt(squares), rule.constant("epsilon"));
  Tensor corrected = rule.div(
      rule.mul(rule.rate(), rule.sqrt(rule.bias("beta"))), rule.bias("alpha"));
  Tensor rate = rule.afterFirst(corrected, rule.rate());
  update.x = rule.sub(update.x, rule.mul(rate, rule.div(momentum, root)));
  update.x =
      rule.mul(rule.sub(rule.number(1), rule.constant("norm_coefficient_post")),
               update.x);
}

/// The first gradient counts in full.
static void applyMomentum(const Rule &rule, Update &update) {
  Tensor gradient = rule.gradientOf(update);
  Tensor weight = rule.afterFirst(rule.constant("beta"), rule.number(1));
  Tensor &momentum = update.states[0];
  momentum = rule.add(rule.mul(rule.constant("alpha"), momentum),
                      rule.mul(weight, gradient));
  bool isNesterov = rule.node().getString("mode") == "nesterov";
  Tensor step =
      isNesterov
          ? rule.add(gradient, rule.mul(rule.constant("alpha"), momentum))
          : momentum;
  update.x = rule.sub(update.x, rule.mul(rule.rate(), step));
}

static void importUpdates(NodeImporter &node, size_t states,
                          RuleFunction apply) {
  size_t groups = states + 2;
  size_t count = node.numInputs() < 2 ? 0 : (node.numInputs() - 2) / groups;
  if (count == 0 || count * groups + 2 != node.numInputs() ||
      node.input(0)->count() != 1 || node.input(1)->count() != 1) {
    return node.invalid("got " + std::to_string(node.numInputs()) +
                        " inputs, expected a rate, a count and " +
                        std::to_string(groups) + " for each tensor");
  }
  for (size_t i = 0; i < count; ++i) {
    auto part = [&](size_t group) { return node.input(2 + group * count + i); };
    Update update = {part(0), part(1), {}};
    for (size_t s = 0; s < states; ++s) {
      update.states.push_back(part(2 + s));
    }
    apply(Rule(node, update.x->type), update);
    node.setResult(i, update.x);
    for (size_t s = 0; s < states; ++s) {
      node.setResult((1 + s) * count + i, update.states[s]);
    }
  }
}

static void importAdagrad(NodeImporter &node) {
  importUpdates(node, 1, applyAdagrad);
}

static void importAdam(NodeImporter &node) {
  importUpdates(node, 2, applyAdam);
}

static void importMomentum(NodeImporter &node) {
  importUpdates(node, 1, applyMomentum);
}

llvm::ArrayRef<ImporterRow> divisi::optimizerImporters() {
  static const ImporterRow kRows[] = {
      {"ai.onnx.preview.training.Adagrad", importAdagrad},
      {"ai.onnx.preview.training.Adam", importAdam},
      {"ai.onnx.preview.training.Momentum", importMomentum},
  };
  return kRows;
}
