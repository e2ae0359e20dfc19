//===- Gradients.cpp - Reverse mode ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Autodiff/Gradients.h"

#include "Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

void divisi::registerGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, nn::NNDialect *) {
    attachUnaryRules(*context);
    attachElementwiseRules(*context);
    attachContractionRules(*context);
    attachReduceRules(*context);
    attachNormalizeRules(*context);
    attachMovementRules(*context);
    attachWindowRules(*context);
    attachIndexRules(*context);
    attachAttentionRules(*context);
  });
}

GradientRule divisi::gradientRuleOf(OperationName name) {
  auto *rule = name.getInterface<GradientInterface>();
  if (!rule) {
    return GradientRule::Missing;
  }
  // External models ask nothing of the operator.
  return rule->hasGradient(rule, nullptr) ? GradientRule::Known
                                          : GradientRule::Zero;
}

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType, nn::FieldType>(type.getElementType());
}

namespace {

/// One way back through a block.
class ReverseMode {
public:
  ReverseMode(OpBuilder &builder, Value output, Value seed,
              ArrayRef<Value> inputs)
      : builder_(builder), output_(output) {
    gradients_[output] = seed;
    depending_.insert(inputs.begin(), inputs.end());
  }

  LogicalResult run();
  Value gradientBy(Value input) const { return gradients_.lookup(input); }

private:
  SmallVector<Operation *> findWay();
  LogicalResult derive(Operation *op);
  void accumulate(Operation *user, Value value, Value gradient);

  OpBuilder &builder_;
  Value output_;
  llvm::DenseMap<Value, Value> gradients_;
  llvm::DenseSet<Value> depending_; ///< Smoothly on an input.
};

} // namespace

/// The operators through which the output depends on an input, in order.
SmallVector<Operation *> ReverseMode::findWay() {
  SmallVector<Operation *> way;
  Operation *last = output_.getDefiningOp();
  if (!last) {
    return way;
  }
  for (Operation &op : *last->getBlock()) {
    auto rule = dyn_cast<GradientInterface>(op);
    bool isDepending = llvm::any_of(op.getOperands(), [&](Value operand) {
      return depending_.contains(operand);
    });
    if (isDepending && (!rule || rule.hasGradient())) {
      way.push_back(&op);
      for (Value result : op.getResults()) {
        if (isFloat(result)) {
          depending_.insert(result);
        }
      }
    }
    if (&op == last) {
      break;
    }
  }
  return way;
}

void ReverseMode::accumulate(Operation *user, Value value, Value gradient) {
  Value &total = gradients_[value];
  if (total) {
    auto sum = nn::AddOp::create(builder_, gradient.getLoc(), total, gradient);
    nn::copyScope(user, sum);
    total = sum;
  } else {
    total = gradient;
  }
}

LogicalResult ReverseMode::derive(Operation *op) {
  auto rule = dyn_cast<GradientInterface>(op);
  if (isa<nn::QuantizeOp, nn::DequantizeOp>(op)) {
    return op->emitOpError()
           << "is of a quantized model, whose codes do not change smoothly: "
              "train the model as it was before, or freeze all that comes "
              "before this";
  }
  if (!rule || op->getNumResults() != 1) {
    return op->emitOpError()
           << "has no gradient, and what is trained depends on it: freeze all "
              "that comes before it, or write it with operators that have one";
  }
  SmallVector<bool> wanted;
  for (Value operand : op->getOperands()) {
    wanted.push_back(depending_.contains(operand));
  }
  GradientBuilder gradients(builder_, op, gradients_.lookup(op->getResult(0)),
                            wanted);
  if (failed(rule.addGradients(gradients))) {
    return failure();
  }
  for (auto [operand, gradient] :
       llvm::zip_equal(op->getOperands(), gradients.results())) {
    if (gradient) {
      accumulate(op, operand, gradient);
    }
  }
  return success();
}

LogicalResult ReverseMode::run() {
  SmallVector<Operation *> way = findWay();
  for (Operation *op : llvm::reverse(way)) {
    bool isReached = llvm::any_of(op->getResults(), [&](Value result) {
      return gradients_.contains(result);
    });
    if (isReached && failed(derive(op))) {
      return failure();
    }
  }
  return success();
}

FailureOr<SmallVector<Value>> divisi::makeGradients(OpBuilder &builder,
                                                    Value output, Value seed,
                                                    ArrayRef<Value> inputs) {
  ReverseMode reverse(builder, output, seed, inputs);
  if (failed(reverse.run())) {
    return failure();
  }
  SmallVector<Value> results;
  for (Value input : inputs) {
    results.push_back(reverse.gradientBy(input));
  }
  return results;
}
