//===- Instance.cpp - A rule at one assignment ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Instance.h"

#include "dialects/NN/NN.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Rules/GraphBuilder.h"

#include "mlir/IR/MLIRContext.h"

using namespace divisi;
using namespace divisi::rewrite;
using rt::HostTensor;

Instantiator::Instantiator()
    : context_(std::make_unique<mlir::MLIRContext>(
          mlir::MLIRContext::Threading::DISABLED)) {
  context_->loadDialect<nn::NNDialect>();
}
Instantiator::~Instantiator() = default;

Expected<CallGraph>
Instantiator::instantiate(const Rule &rule, const Graph &side,
                          const std::vector<TensorForm> &variables,
                          const Assignment &assignment,
                          const TypeChoice &types) {
  mlir::Block block;
  mlir::OpBuilder builder(context_.get());
  builder.setInsertionPointToEnd(&block);
  llvm::SmallVector<mlir::Value> values;
  for (const TensorForm &form : variables) {
    values.push_back(block.addArgument(toMLIR(context_.get(), form),
                                       builder.getUnknownLoc()));
  }
  return GraphBuilder(builder, builder.getUnknownLoc(), assignment, types)
      .run(rule, side, values);
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
        call.op.empty() ? splat(call.result, call.element)
                        : evaluateOp(call.op, call.attributes, operands,
                                     call.result.type, call.result.dims);
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
