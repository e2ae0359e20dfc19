//===- Instance.cpp - A rule at one assignment ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/Instance.h"

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"
#include "lib/Rewrite/OperatorForms.h"
#include "lib/Rewrite/RuleNames.h"

#include "mlir/IR/MLIRContext.h"

#include <map>

using namespace divisi;
using namespace divisi::rewrite;
using rt::HostTensor;

/// More elements than a rule is ever tried on.
static constexpr int64_t kMostElements = int64_t(1) << 24;

/// What a type of the language is. Nothing where an extent has no value, is
/// negative, or too large.
static std::optional<TensorForm> formOf(const TensorType &type,
                                        const Assignment &assignment,
                                        const TypeChoice &types) {
  std::optional<std::vector<int64_t>> dims =
      divisi::rewrite::evaluate(type.shape, assignment);
  if (!dims) {
    return std::nullopt;
  }
  int64_t count = 1;
  for (int64_t extent : *dims) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) ||
        count > kMostElements) {
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
static mlir::Attribute attributeOf(mlir::Builder &builder, const Value &value,
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
  if (expr.kind == Expr::Kind::Name) {
    auto real = assignment.reals.find(expr.name);
    if (real != assignment.reals.end()) {
      return builder.getF64FloatAttr(real->second);
    }
  }
  auto number = divisi::rewrite::evaluate(expr, assignment);
  return number ? mlir::Attribute(builder.getI64IntegerAttr(*number))
                : mlir::Attribute();
}

static mlir::RankedTensorType toMLIR(mlir::MLIRContext *context,
                                     const TensorForm &form) {
  return mlir::RankedTensorType::get(form.dims,
                                     toMLIRType(context, form.type));
}

static TensorForm fromMLIR(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return {*fromMLIRType(tensor.getElementType()),
          rt::Dims(tensor.getShape().begin(), tensor.getShape().end())};
}

namespace {

/// Builds one side in a block, operator by operator.
class SideBuilder {
public:
  SideBuilder(mlir::MLIRContext *context, const Assignment &assignment,
              const TypeChoice &types)
      : builder_(context), assignment_(assignment), types_(types) {}
  ~SideBuilder() {
    // Users before what they use.
    while (!block_.empty()) {
      block_.back().erase();
    }
  }

  Expected<CallGraph> run(const Rule &rule, const Graph &side,
                          const std::vector<TensorForm> &variables);

private:
  void name(const std::string &name, mlir::Value value) {
    numbers_[name] = values_.size();
    values_.push_back(value);
  }
  mlir::Value argument(const TensorForm &form) {
    return block_.addArgument(toMLIR(builder_.getContext(), form),
                              builder_.getUnknownLoc());
  }
  Expected<Call> call(const Node &node);
  Status build(const Node &node, const std::optional<TensorForm> &type,
               Call &call);

  mlir::Builder builder_;
  const Assignment &assignment_;
  const TypeChoice &types_;
  mlir::Block block_;
  std::vector<mlir::Value> values_;
  std::map<std::string, size_t> numbers_;
};

} // namespace

Status SideBuilder::build(const Node &node,
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
      buildOperator(block_, node.op, operands,
                    attributes.getDictionary(context), given);
  if (!op) {
    return op.status();
  }
  name(node.name, (*op)->getResult(0));
  call.op = "nn." + node.op;
  call.attributes = toRuntimeAttributes(*op);
  call.result = fromMLIR((*op)->getResult(0).getType());
  return Status();
}

Expected<Call> SideBuilder::call(const Node &node) {
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
    call.element = node.element;
    call.result = *type;
    name(node.name, argument(*type));
    return call;
  }
  Status status = build(node, type, call);
  return status.isOk() ? Expected<Call>(std::move(call)) : status;
}

Expected<CallGraph>
SideBuilder::run(const Rule &rule, const Graph &side,
                 const std::vector<TensorForm> &variables) {
  for (size_t i = 0; i != variables.size(); ++i) {
    name(rule.variables[i].name, argument(variables[i]));
  }
  CallGraph result;
  for (const Node &node : side.nodes) {
    Expected<Call> made = call(node);
    if (!made) {
      return made.status().in("'" + node.name + "'" +
                              (node.op.empty() ? "" : " (" + node.op + ")"));
    }
    if (rt::numElements(made->result.dims) > kMostElements) {
      return makeError(ExitCode::Invalid, "'", node.name, "' has more than ",
                       kMostElements, " elements");
    }
    result.calls.push_back(std::move(*made));
  }
  for (const std::string &name : side.results) {
    result.results.push_back(numbers_.at(name));
  }
  return result;
}

Instantiator::Instantiator()
    : context_(std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED)) {
  context_->loadDialect<nn::NNDialect>();
}
Instantiator::~Instantiator() = default;

Expected<CallGraph> Instantiator::instantiate(
    const Rule &rule, const Graph &side,
    const std::vector<TensorForm> &variables, const Assignment &assignment,
    const TypeChoice &types) {
  return SideBuilder(context_.get(), assignment, types)
      .run(rule, side, variables);
}

Expected<std::vector<TensorForm>>
Instantiator::variables(const Rule &rule, const Assignment &assignment,
                        const TypeChoice &types) {
  std::vector<TensorForm> forms;
  for (const Variable &variable : rule.variables) {
    std::optional<TensorForm> form = formOf(variable.type, assignment, types);
    if (!form) {
      return Status(ExitCode::Invalid,
                    "an extent of '" + variable.name +
                        "' has no value, a negative one, or one too large");
    }
    forms.push_back(std::move(*form));
  }
  return forms;
}

/// A tensor of equal elements.
static Expected<HostTensor> splat(const TensorForm &form, double element) {
  Expected<HostTensor> numbers = HostTensor::zeros(rt::DType::F64, form.dims);
  if (!numbers) {
    return numbers;
  }
  for (double &number : numbers->as<double>()) {
    number = element;
  }
  return numbers->castTo(form.type);
}

Expected<std::vector<HostTensor>>
divisi::rewrite::evaluate(const CallGraph &side,
                          const std::vector<HostTensor> &variables) {
  std::vector<HostTensor> values = variables;
  for (const Call &call : side.calls) {
    std::vector<HostTensor> operands;
    for (size_t operand : call.operands) {
      operands.push_back(values[operand]);
    }
    Expected<HostTensor> value =
        call.op.empty()
            ? splat(call.result, call.element)
            : evaluateOp(call.op, call.attributes, operands, call.result.type,
                         call.result.dims);
    if (!value) {
      return value.status();
    }
    values.push_back(std::move(*value));
  }
  std::vector<HostTensor> results;
  for (size_t number : side.results) {
    results.push_back(values[number]);
  }
  return results;
}
