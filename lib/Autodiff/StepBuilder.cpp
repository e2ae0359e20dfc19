//===- StepBuilder.cpp - Operators of a training step ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBuilder.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::autodiff;

StepBuilder::StepBuilder(func::FuncOp function, StringRef name)
    : builder_(function.getBody().front().getTerminator()),
      location_(function.getLoc()) {
  setName(name);
}

void StepBuilder::setName(StringRef name) {
  location_ = NameLoc::get(builder_.getStringAttr(name));
}

Value StepBuilder::number(double value, Type element) {
  TypedAttr attribute =
      isa<FloatType>(element)
          ? TypedAttr(builder_.getFloatAttr(element, value))
          : TypedAttr(builder_.getIntegerAttr(element, int64_t(value)));
  return emit<nn::ConstantOp>(
      DenseElementsAttr::get(RankedTensorType::get({}, element), attribute));
}

Value StepBuilder::numberLike(double value, Value like) {
  return number(value, getElementTypeOrSelf(like.getType()));
}

Value StepBuilder::cast(Value x, Type element) {
  return getElementTypeOrSelf(x.getType()) == element
             ? x
             : emit<nn::CastOp>(x, element);
}

Value StepBuilder::reduceAll(StringRef kind, Value x) {
  SmallVector<int64_t> axes(nn::globalShape(x.getType()).size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes.empty() ? x : emit<nn::ReduceOp>(x, kind, axes);
}

Value StepBuilder::withLast(Value x) {
  SmallVector<int64_t> shape(nn::globalShape(x.getType()));
  shape.push_back(1);
  return emit<nn::ReshapeOp>(x, shape);
}

Value StepBuilder::reduceLast(StringRef kind, Value x, bool keeps) {
  SmallVector<int64_t> last{int64_t(nn::globalShape(x.getType()).size()) - 1};
  Value reduced = emit<nn::ReduceOp>(x, kind, last);
  return keeps ? withLast(reduced) : reduced;
}

StepState autodiff::makeState(StepBuilder &b, StringRef name,
                              RankedTensorType type, SymbolTable &symbols,
                              Operation *after) {
  auto module = cast<ModuleOp>(symbols.getOp());
  OpBuilder builder(module.getBody(), module.getBody()->begin());
  Location location = module.getLoc();
  if (after) {
    builder.setInsertionPointAfter(after);
    location = after->getLoc();
  }
  auto global = nn::GlobalOp::create(
      builder, location, builder.getStringAttr(name),
      nn::GlobalKindAttr::get(module.getContext(), nn::GlobalKind::State),
      TypeAttr::get(type), StringAttr(), IntegerAttr(), IntegerAttr(),
      builder.getUnitAttr());
  symbols.insert(global, builder.getInsertionPoint());
  return {global, b.emit<nn::ReadOp>(type, FlatSymbolRefAttr::get(global))};
}

InFlightDiagnostic autodiff::refuse(func::FuncOp entry) {
  return emitError(entry.getLoc()) << "entry '" << entry.getName() << "' ";
}

FailureOr<Value> autodiff::addInput(func::FuncOp function, Type type,
                                    StringRef name, StringRef instead) {
  for (unsigned i = 0; i != function.getNumArguments(); ++i) {
    auto taken = function.getArgAttrOfType<StringAttr>(i, "nn.name");
    if (taken && taken.getValue() == name) {
      return refuse(function)
             << "has an input '" << name << "' already; " << instead;
    }
  }
  unsigned at = function.getNumArguments();
  Builder builder(function.getContext());
  NamedAttrList attributes;
  attributes.set("nn.name", builder.getStringAttr(name));
  if (failed(function.insertArgument(
          at, type, attributes.getDictionary(function.getContext()),
          function.getLoc()))) {
    return failure();
  }
  return Value(function.getArgument(at));
}
