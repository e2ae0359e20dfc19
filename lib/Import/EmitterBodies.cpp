//===- EmitterBodies.cpp - Functions that branches and loops run ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of ONNX sees the values around it, and a body only its arguments. So
// what it uses from around it is passed to it, once:
//
//   y = f(x)                    %y = …
//   If(c) { Add(y, 1) }         nn.if %c then @a else @b(%y)
//                               func.func private @a(%y) -> nn.add %y, 1
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "dialects/NN/Bodies.h"
#include "divisi/Evaluate/Evaluator.h"

using namespace divisi;

void Emitter::countRows(const Tensor &tensor, int64_t dim,
                        const Tensor &count) {
  if (!bodies_.empty()) {
    return fail(ExitCode::Unsupported,
                "how many rows it gives only the run knows, and it stands in a "
                "branch or loop that data decides on");
  }
  mlir::Value value = materialize(tensor), number = materialize(count);
  if (status_.isOk()) {
    rows_.push_back({value, dim, number});
  }
}

void Emitter::beginBody(const std::string &name) {
  OpenBody body;
  body.outside = builder_.saveInsertionPoint();
  mlir::OpBuilder functions(module_.getContext());
  functions.setInsertionPointToEnd(module_.getBody());
  body.function =
      mlir::func::FuncOp::create(functions, location_, uniqueName(name),
                                 functions.getFunctionType({}, {}));
  body.function.setPrivate();
  builder_.setInsertionPointToStart(body.function.addEntryBlock());
  bodies_.push_back(std::move(body));
}

Tensor Emitter::bodyArgument(rt::DType type, const rt::Dims &dims) {
  OpenBody &body = bodies_.back();
  mlir::Value value = body.function.front().insertArgument(
      body.own++,
      mlir::RankedTensorType::get(dims, toMLIRType(module_.getContext(), type)),
      location_);
  return argument(value, type, dims);
}

/// Small constants are written into the body, all else comes as an argument.
mlir::Value Emitter::materializeInBody(const Tensor &tensor) {
  OpenBody &body = bodies_.back();
  if (tensor->value &&
      tensor->value.getParentRegion() == &body.function.getBody()) {
    return tensor->value;
  }
  mlir::Value &known = body.values[tensor];
  if (known) {
    return known;
  }
  if (tensor->isFoldable() && !isAbsent(tensor)) {
    auto bytes = bytesOf(tensor);
    if (!bytes) {
      return nullptr;
    }
    if (isWrittenOut(*bytes)) {
      known = materializeConstant(*bytes);
      return known;
    }
  }
  OpenBody inner = std::move(bodies_.back());
  bodies_.pop_back();
  mlir::OpBuilder::InsertPoint inside = builder_.saveInsertionPoint();
  builder_.restoreInsertionPoint(inner.outside);
  mlir::Value outer = materialize(tensor);
  inner.outside = builder_.saveInsertionPoint();
  builder_.restoreInsertionPoint(inside);
  bodies_.push_back(std::move(inner));
  if (!outer) {
    return nullptr;
  }
  OpenBody &again = bodies_.back();
  again.taken.push_back(tensor);
  mlir::Value value =
      again.function.front().addArgument(outer.getType(), outer.getLoc());
  again.values[tensor] = value;
  return value;
}

ImportedBody Emitter::endBody(std::optional<std::vector<Tensor>> results) {
  llvm::SmallVector<mlir::Value> values;
  if (results) {
    for (const Tensor &result : *results) {
      values.push_back(materialize(result));
    }
  }
  OpenBody body = std::move(bodies_.back());
  bodies_.pop_back();
  if (!results || !status_.isOk()) {
    body.function.erase();
    builder_.restoreInsertionPoint(body.outside);
    return {};
  }
  mlir::func::ReturnOp::create(builder_, body.function.getLoc(), values);
  body.function.setFunctionType(builder_.getFunctionType(
      body.function.front().getArgumentTypes(),
      llvm::SmallVector<mlir::Type>(mlir::ValueRange(values).getTypes())));
  builder_.restoreInsertionPoint(body.outside);
  return {body.function, std::move(*results), std::move(body.taken)};
}

/// Those of `op`, of the types of `like`.
std::vector<Tensor> Emitter::makeResults(mlir::Operation *op,
                                         llvm::ArrayRef<Tensor> like) {
  std::vector<Tensor> results;
  for (auto [value, type] : llvm::zip_equal(op->getResults(), like)) {
    results.push_back(argument(value, type->type, type->dims));
  }
  return results;
}

/// Both functions take what either takes.
std::vector<Tensor> Emitter::branch(const Tensor &condition, ImportedBody then,
                                    ImportedBody otherwise) {
  std::vector<Tensor> taken = then.taken;
  llvm::append_range(taken, otherwise.taken);
  llvm::SmallVector<mlir::Value> values;
  for (const Tensor &one : taken) {
    values.push_back(materialize(one));
  }
  mlir::Value selects = materialize(condition);
  if (!status_.isOk()) {
    return otherwise.results;
  }
  auto widen = [&](ImportedBody &body, bool isFirst) {
    mlir::Block &block = body.function.front();
    for (auto [i, value] : llvm::enumerate(values)) {
      bool isOwn = (i < then.taken.size()) == isFirst;
      if (!isOwn) {
        block.insertArgument(unsigned(i), value.getType(), value.getLoc());
      }
    }
    body.function.setFunctionType(
        builder_.getFunctionType(block.getArgumentTypes(),
                                 body.function.getFunctionType().getResults()));
  };
  widen(then, true);
  widen(otherwise, false);
  auto op = nn::IfOp::create(builder_, location_,
                             then.function.getFunctionType().getResults(),
                             then.function.getSymName(),
                             otherwise.function.getSymName(), selects, values);
  return makeResults(op, otherwise.results);
}

std::vector<Tensor> Emitter::loop(const ImportedBody &body, const Tensor &count,
                                  int64_t most,
                                  llvm::ArrayRef<Tensor> carried) {
  llvm::SmallVector<mlir::Value> values;
  for (const Tensor &one : carried) {
    values.push_back(materialize(one));
  }
  for (const Tensor &one : body.taken) {
    values.push_back(materialize(one));
  }
  mlir::Value times = materialize(count);
  if (!status_.isOk()) {
    return body.results;
  }
  mlir::func::FuncOp function = body.function;
  auto op = nn::LoopOp::create(builder_, location_,
                               function.getFunctionType().getResults(),
                               function.getSymName(), times, values, most);
  return makeResults(op, body.results);
}
