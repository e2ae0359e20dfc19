//===- Unflatten.cpp - Dims that mean one thing ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Unflatten/Unflatten.h"
#include "dialects/NN/Locations.h"

#include "DimFactors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace divisi;
using namespace mlir;

static ArrayRef<int64_t> shapeIn(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(shape, type.getElementType());
}

namespace {

/// Rewrites one function, operator by operator, in front of the old ones.
class Rewriter {
public:
  Rewriter(func::FuncOp function, const DimFactors &factors)
      : function_(function), factors_(factors),
        builder_(function.getContext()) {}

  int64_t run();

private:
  void rewrite(Operation *op);
  void rewriteReturn(func::ReturnOp op);
  bool isTouched(Operation *op) const;
  Value get(Value old) const {
    auto it = values_.find(old);
    return it == values_.end() ? old : it->second;
  }
  Value reshape(Operation *op, Value value, ArrayRef<int64_t> shape);
  /// Puts `op` in the given form in its place.
  void replace(Operation *op, const nn::FactoredForm &form);
  /// `op` as it was, between reshapes.
  void refold(Operation *op);

  func::FuncOp function_;
  const DimFactors &factors_;
  OpBuilder builder_;
  llvm::DenseMap<Value, Value> values_; ///< Looked up only.
};

} // namespace

bool Rewriter::isTouched(Operation *op) const {
  auto isRefined = [&](Value value) { return factors_.isRefined(value); };
  return llvm::any_of(op->getOperands(), isRefined) ||
         llvm::any_of(op->getResults(), isRefined);
}

Value Rewriter::reshape(Operation *op, Value value, ArrayRef<int64_t> shape) {
  if (shapeIn(value) == shape) {
    return value;
  }
  auto made = nn::ReshapeOp::create(builder_, op->getLoc(),
                                    withShape(value, shape), value);
  nn::copyScope(op, made);
  return made.getY();
}

/// The old operator stays until the whole function is rewritten: factors are
/// known by the old values.
void Rewriter::replace(Operation *op, const nn::FactoredForm &form) {
  SmallVector<Value> operands;
  for (auto [operand, shape] :
       llvm::zip_equal(op->getOperands(), form.operands)) {
    operands.push_back(reshape(op, get(operand), shape));
  }
  if (op->getNumResults() == 0) {
    return op->setOperands(operands);
  }
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  NamedAttrList attributes(op->getAttrDictionary());
  for (NamedAttribute attribute : form.attributes) {
    attributes.set(attribute.getName(), attribute.getValue());
  }
  state.addAttributes(attributes);
  Value old = op->getResult(0);
  state.addTypes(withShape(old, form.result));
  Value made = builder_.create(state)->getResult(0);
  values_[old] = reshape(op, made, factors_.shapeOf(old));
}

void Rewriter::refold(Operation *op) {
  nn::FactoredForm form;
  for (Value operand : op->getOperands()) {
    form.operands.emplace_back(shapeIn(operand));
  }
  if (op->getNumResults() == 1) {
    form.result.assign(shapeIn(op->getResult(0)).begin(),
                       shapeIn(op->getResult(0)).end());
  }
  replace(op, form);
}

/// A function keeps its signature.
void Rewriter::rewriteReturn(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value old = operand.get();
    operand.set(factors_.isRefined(old) ? reshape(op, get(old), shapeIn(old))
                                        : get(old));
  }
}

void Rewriter::rewrite(Operation *op) {
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    return rewriteReturn(ret);
  }
  if (!isTouched(op)) {
    for (OpOperand &operand : op->getOpOperands()) {
      operand.set(get(operand.get()));
    }
    return;
  }
  if (auto reshaped = dyn_cast<nn::ReshapeOp>(op)) {
    values_[reshaped.getY()] =
        reshape(op, get(reshaped.getX()), factors_.shapeOf(reshaped.getY()));
    return;
  }
  auto opens = dyn_cast<nn::UnflattenInterface>(op);
  std::optional<nn::FactoredForm> form =
      opens ? opens.getFactoredForm(factors_) : std::nullopt;
  if (form) {
    replace(op, *form);
  } else {
    refold(op);
  }
}

/// Backwards in the end: what uses an operator is erased before it.
int64_t Rewriter::run() {
  Block &body = function_.getBody().front();
  builder_.setInsertionPointToStart(&body);
  SmallVector<Operation *> old;
  for (Operation &op : body) {
    old.push_back(&op);
  }
  for (Value argument : function_.getArguments()) {
    if (factors_.isRefined(argument)) {
      auto made = nn::ReshapeOp::create(
          builder_, argument.getLoc(),
          withShape(argument, factors_.shapeOf(argument)), argument);
      values_[argument] = made.getY();
    }
  }
  for (Operation *op : old) {
    builder_.setInsertionPoint(op);
    rewrite(op);
  }
  int64_t rewritten = 0;
  for (Operation *op : llvm::reverse(old)) {
    if (op->getNumResults() == 1 && values_.contains(op->getResult(0))) {
      op->erase();
      ++rewritten;
    }
  }
  return rewritten;
}

/// An error unless functions stand in the module itself and are one list of
/// operators: only then is everything that reads a global in sight.
static LogicalResult checkForm(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function && op.getNumRegions() != 0) {
      return op.emitOpError("holds a region, expected a module of globals and "
                            "functions");
    }
    if (!function || function.isExternal()) {
      continue;
    }
    if (!function.getBody().hasOneBlock()) {
      return op.emitOpError("has several blocks, expected one list of "
                            "operators");
    }
    for (Operation &inner : function.getOps()) {
      if (inner.getNumRegions() != 0) {
        return inner.emitOpError("holds a region, expected operators alone");
      }
    }
  }
  return success();
}

/// Whether `op` makes its results of nothing, not even of a global.
static bool isConstant(Operation *op) {
  return op->getNumOperands() == 0 && isPure(op) &&
         !isa<SymbolUserOpInterface>(op);
}

/// Gives every use of a constant or an iota one of its own: users who share
/// one say nothing about each other's dims.
static void unshare(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (Operation &op : function.getOps()) {
    for (OpOperand &use : op.getOpOperands()) {
      Operation *source = use.get().getDefiningOp();
      if (source && isConstant(source) && !use.get().hasOneUse()) {
        builder.setInsertionPoint(&op);
        use.set(builder.clone(*source)->getResult(0));
      }
    }
  }
}

FailureOr<int64_t> divisi::unflatten(ModuleOp module) {
  if (failed(checkForm(module))) {
    return failure();
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    unshare(function);
  }
  DimFactors factors(module);
  int64_t rewritten = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isExternal()) {
      rewritten += Rewriter(function, factors).run();
    }
  }
  for (auto global : module.getOps<nn::GlobalOp>()) {
    global.setType(global.getTensorType().clone(factors.shapeOf(global)));
  }
  return rewritten;
}
