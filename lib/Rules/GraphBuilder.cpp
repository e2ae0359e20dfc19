//===- GraphBuilder.cpp - One side of a rule as operators -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/GraphBuilder.h"

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Rules/RuleNames.h"
#include "lib/Rules/OperatorForms.h"
#include "lib/Rules/Pointwise.h"

#include <algorithm>
#include <map>

using namespace divisi;
using namespace divisi::rewrite;

std::optional<TensorForm> divisi::rewrite::formOf(const TensorType &type,
                                                  const Assignment &assignment,
                                                  const TypeChoice &types) {
  std::optional<std::vector<int64_t>> dims =
      divisi::rewrite::evaluate(type.shape, assignment);
  if (!dims) {
    return std::nullopt;
  }
  int64_t count = 1;
  for (int64_t extent : *dims) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      return std::nullopt;
    }
  }
  return TensorForm{types.at(type.element), std::move(*dims)};
}

/// Replaces "{p}" by as many letters as p has dims, which stand nowhere else.
static std::string withLetters(const std::string &text,
                               const Assignment &assignment) {
  static constexpr std::string_view letters =
      "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA";
  std::map<std::string, std::string> chosen;
  size_t next = 0;
  std::string outside = text, result;
  for (size_t at; (at = outside.find('{')) != std::string::npos;) {
    outside.erase(at, outside.find('}', at) - at + 1);
  }
  std::optional<std::vector<std::string>> names = shapesInString(text);
  for (const std::string &name : *names) {
    auto [entry, isNew] = chosen.emplace(name, "");
    size_t rank = isNew ? assignment.shapes.at(name).size() : 0;
    while (rank != 0 && next != letters.size()) {
      if (outside.find(letters[next]) == std::string::npos) {
        entry->second += letters[next];
        --rank;
      }
      ++next;
    }
  }
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{') {
      result += text[at];
      continue;
    }
    size_t end = text.find('}', at);
    result += chosen.at(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return result;
}

/// The attribute at an assignment; null where it has no value.
static mlir::Attribute attributeOf(mlir::OpBuilder &builder, const Value &value,
                                   const Assignment &assignment) {
  if (const auto *real = std::get_if<double>(&value)) {
    return builder.getF64FloatAttr(*real);
  }
  if (const auto *flag = std::get_if<bool>(&value)) {
    return builder.getBoolAttr(*flag);
  }
  if (const auto *text = std::get_if<std::string>(&value)) {
    return builder.getStringAttr(withLetters(*text, assignment));
  }
  if (const auto *items = std::get_if<Items>(&value)) {
    auto numbers = divisi::rewrite::evaluate(*items, assignment);
    return numbers ? mlir::Attribute(builder.getDenseI64ArrayAttr(*numbers))
                   : mlir::Attribute();
  }
  const Expr &expr = std::get<Expr>(value);
  if (auto number = divisi::rewrite::evaluate(expr, assignment)) {
    return builder.getI64IntegerAttr(*number);
  }
  std::optional<double> real = evaluateNumber(expr, assignment);
  return real ? mlir::Attribute(builder.getF64FloatAttr(*real))
              : mlir::Attribute();
}

mlir::RankedTensorType divisi::rewrite::toMLIR(mlir::MLIRContext *context,
                                               const TensorForm &form) {
  return mlir::RankedTensorType::get(form.dims, toMLIRType(context, form.type));
}

TensorForm divisi::rewrite::fromMLIR(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return {*fromMLIRType(tensor.getElementType()),
          rt::Dims(tensor.getShape().begin(), tensor.getShape().end())};
}

/// What an operator takes. A contraction multiplies its operands and sums.
static Effort effortOf(const LoopNest &nest) {
  Effort effort;
  effort.operators = 1;
  bool isContraction =
      nest.linear.size() > 1 &&
      std::any_of(nest.loops.begin(), nest.loops.end(), [](const Loop &loop) {
        return loop.kind == LoopKind::Reduction;
      });
  if (isContraction) {
    effort.contractions = 1;
    effort.contractionFlops = nest.flops();
  }
  for (const TensorMap &result : nest.results) {
    double count = 1;
    for (int64_t extent : result.shape) {
      count *= double(extent);
    }
    effort.elements += count;
  }
  return effort;
}

/// A tensor of equal elements; of the field the images of numbers.
static mlir::Operation *buildSplat(mlir::OpBuilder &builder,
                                   mlir::Location location, double element,
                                   mlir::RankedTensorType type) {
  mlir::Type known = type.getElementType();
  if (!known.isIntOrFloat()) {
    known = builder.getF64Type();
  }
  mlir::Attribute value =
      llvm::isa<mlir::FloatType>(known)
          ? mlir::Attribute(builder.getFloatAttr(known, element))
          : builder.getIntegerAttr(known, int64_t(element));
  return nn::ConstantOp::create(
      builder, location, type,
      mlir::DenseElementsAttr::get(
          mlir::RankedTensorType::get(type.getShape(), known), value));
}

Status GraphBuilder::build(const Node &node,
                           const std::optional<TensorForm> &type, Call &call) {
  mlir::NamedAttrList attributes;
  for (const auto &[name, value] : node.attributes) {
    mlir::Attribute attribute = attributeOf(builder_, value, assignment_);
    if (!attribute) {
      return Status(ExitCode::Invalid, "attribute '" + name +
                                           "' has no value, by a division or "
                                           "an index that is out of range");
    }
    attributes.set(name, attribute);
  }
  llvm::SmallVector<mlir::Value> operands;
  for (const std::string &operand : node.operands) {
    call.operands.push_back(numbers_.at(operand));
    operands.push_back(values_[numbers_.at(operand)]);
  }
  mlir::MLIRContext *context = builder_.getContext();
  std::optional<mlir::RankedTensorType> given;
  if (type) {
    given = toMLIR(context, *type);
  }
  Expected<mlir::Operation *> op =
      buildOperator(builder_, location_, node.op, operands,
                    attributes.getDictionary(context), given);
  if (!op) {
    return op.status();
  }
  call.op = "nn." + node.op;
  call.attributes = toRuntimeAttributes(*op);
  call.result = fromMLIR((*op)->getResult(0).getType());
  LoopNest nest = llvm::cast<nn::LoopInterface>(*op).getLoopNest();
  call.effort = effortOf(nest);
  call.isElementwise = isElementwise(nest);
  add(node.name, *op);
  return Status();
}

Expected<Call> GraphBuilder::call(const Node &node) {
  std::optional<TensorForm> type;
  if (node.type) {
    type = formOf(*node.type, assignment_, types_);
    if (!type) {
      return Status(ExitCode::Invalid,
                    "an extent of its type has no value, or a negative one");
    }
  }
  Call call;
  if (node.op.empty()) {
    const auto *expr = std::get_if<Expr>(&node.element);
    std::optional<double> element =
        expr ? evaluateNumber(*expr, assignment_)
             : std::optional(std::get<double>(node.element));
    if (!element) {
      return Status(ExitCode::Invalid, "its element has no value");
    }
    call.element = *element;
    call.result = *type;
    add(node.name, buildSplat(builder_, location_, *element,
                              toMLIR(builder_.getContext(), *type)));
    return call;
  }
  Status status = build(node, type, call);
  return status.isOk() ? Expected<Call>(std::move(call)) : status;
}

Expected<CallGraph> GraphBuilder::run(const Rule &rule, const Graph &side,
                                      mlir::ValueRange variables) {
  for (auto [variable, value] : llvm::zip_equal(rule.variables, variables)) {
    name(variable.name, value);
  }
  CallGraph result;
  for (const Node &node : side.nodes) {
    Expected<Call> made = call(node);
    if (!made) {
      return made.status().in("'" + node.name + "'" +
                              (node.op.empty() ? "" : " (" + node.op + ")"));
    }
    result.calls.push_back(std::move(*made));
  }
  for (const std::string &name : side.results) {
    result.results.push_back(numbers_.at(name));
  }
  return result;
}
