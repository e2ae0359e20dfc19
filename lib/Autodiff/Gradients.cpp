//===- Gradients.cpp - Reverse mode ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Autodiff/Gradients.h"

#include "LoopGradient.h"
#include "Rules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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

llvm::DenseSet<Value> autodiff::findDepending(Block &block,
                                              ArrayRef<Value> inputs) {
  llvm::DenseSet<Value> depending(inputs.begin(), inputs.end());
  for (Operation &op : block) {
    auto rule = dyn_cast<GradientInterface>(op);
    bool isDepending = llvm::any_of(op.getOperands(), [&](Value operand) {
      return depending.contains(operand);
    });
    if (isDepending && (!rule || rule.hasGradient())) {
      for (Value result : op.getResults()) {
        if (isFloat(result)) {
          depending.insert(result);
        }
      }
    }
  }
  return depending;
}

namespace {

/// One way back through a block.
class ReverseMode {
public:
  ReverseMode(OpBuilder &builder, ArrayRef<Value> outputs,
              ArrayRef<Value> seeds, ArrayRef<Value> inputs)
      : builder_(builder),
        depending_(findDepending(*builder.getBlock(), inputs)) {
    for (auto [output, seed] : llvm::zip_equal(outputs, seeds)) {
      accumulate(output.getDefiningOp(), output, seed);
    }
  }

  LogicalResult run();
  Value gradientBy(Value input) const { return gradients_.lookup(input); }

private:
  LogicalResult derive(Operation *op);
  LogicalResult derive(nn::LoopOp loop);
  void accumulate(Operation *user, Value value, Value gradient);

  OpBuilder &builder_;
  llvm::DenseMap<Value, Value> gradients_;
  llvm::DenseSet<Value> depending_; ///< Smoothly on an input.
};

} // namespace

void ReverseMode::accumulate(Operation *user, Value value, Value gradient) {
  Value &total = gradients_[value];
  if (total) {
    auto sum = nn::AddOp::create(builder_, gradient.getLoc(), total, gradient);
    if (user) {
      nn::copyScope(user, sum);
    }
    total = sum;
  } else {
    total = gradient;
  }
}

/// Of what is carried and of what all iterations have; the loop may be another
/// one behind that.
LogicalResult ReverseMode::derive(nn::LoopOp loop) {
  SmallVector<Value> seeds;
  for (Value result : loop.getResults()) {
    seeds.push_back(gradients_.lookup(result));
  }
  SmallVector<bool> wanted;
  for (Value value : loop.getValues()) {
    wanted.push_back(depending_.contains(value));
  }
  SmallVector<Value> values(loop.getValues());
  auto gradients = deriveLoop(builder_, loop, seeds, wanted);
  if (failed(gradients)) {
    return failure();
  }
  for (auto [value, gradient, wants] :
       llvm::zip_equal(values, *gradients, wanted)) {
    if (gradient && wants) {
      accumulate(loop, value, gradient);
    }
  }
  return success();
}

LogicalResult ReverseMode::derive(Operation *op) {
  auto rule = dyn_cast<GradientInterface>(op);
  if (isa<nn::QuantizeOp, nn::DequantizeOp>(op)) {
    return op->emitOpError()
           << "is of a quantized model, whose codes do not change smoothly: "
              "train the model as it was before, or freeze all that comes "
              "before this";
  }
  if (auto loop = dyn_cast<nn::LoopOp>(op)) {
    return derive(loop);
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
  SmallVector<Operation *> way;
  for (Operation &op : *builder_.getBlock()) {
    if (llvm::any_of(op.getResults(), [&](Value result) {
          return depending_.contains(result);
        })) {
      way.push_back(&op);
    }
  }
  for (Operation *op : llvm::reverse(way)) {
    bool isReached = llvm::any_of(op->getResults(), [&](Value result) {
      return gradients_.lookup(result) != nullptr;
    });
    if (isReached && failed(derive(op))) {
      return failure();
    }
  }
  return success();
}

FailureOr<SmallVector<Value>> divisi::makeGradients(OpBuilder &builder,
                                                    ArrayRef<Value> outputs,
                                                    ArrayRef<Value> seeds,
                                                    ArrayRef<Value> inputs) {
  ReverseMode reverse(builder, outputs, seeds, inputs);
  if (failed(reverse.run())) {
    return failure();
  }
  SmallVector<Value> results;
  for (Value input : inputs) {
    results.push_back(reverse.gradientBy(input));
  }
  return results;
}
