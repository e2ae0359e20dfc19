//===- OperatorTable.cpp - What calls compute, each once ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperatorTable.h"

#include "dialects/Exec/Exec.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Evaluate/KernelCall.h"
#include "divisi/runtime/kernels/Kernel.h"

using namespace mlir;
using namespace divisi;

/// Attributes go by the type that a kernel reads them as.
static void setAttributes(const rt::Attributes &attributes,
                          artifact::Operator &message) {
  for (const auto &[name, value] : attributes.values()) {
    artifact::Attribute *attribute = message.add_attributes();
    attribute->set_name(name);
    if (const auto *integer = std::get_if<int64_t>(&value)) {
      attribute->set_i(*integer);
    } else if (const auto *real = std::get_if<double>(&value)) {
      attribute->set_f(*real);
    } else if (const auto *text = std::get_if<std::string>(&value)) {
      attribute->set_s(*text);
    } else if (const auto *ints = std::get_if<std::vector<int64_t>>(&value)) {
      attribute->mutable_ints()->mutable_values()->Add(ints->begin(),
                                                       ints->end());
    } else {
      const auto &floats = std::get<std::vector<double>>(value);
      attribute->mutable_floats()->mutable_values()->Add(floats.begin(),
                                                         floats.end());
    }
  }
}

/// The number of what `message` says, which is added when it occurs first.
uint32_t OperatorTable::numberOf(const artifact::Operator &message) {
  auto [known, isNew] = numbers_.try_emplace(message.SerializeAsString(),
                                             manifest_.operators_size());
  if (isNew) {
    *manifest_.add_operators() = message;
  }
  return known->second;
}

uint32_t OperatorTable::add(StringRef name, DictionaryAttr config) {
  artifact::Operator message;
  message.set_op(name.str());
  // None of version 0: verification says that there is no such kernel.
  message.set_version(rt::kernelVersion(message.op()).value_or(0));
  setAttributes(toRuntimeAttributes(config), message);
  return numberOf(message);
}

uint32_t OperatorTable::add(Block &block,
                            llvm::function_ref<uint32_t(Type)> tensorOf) {
  static_assert(rt::fusedOp == std::string_view(exec::ExecDialect::kFused));
  artifact::Operator message;
  message.set_op(std::string(rt::fusedOp));
  message.set_version(rt::kernelVersion(message.op()).value_or(0));
  message.set_num_operands(block.getNumArguments());
  llvm::DenseMap<Value, uint32_t> numbers;
  auto number = [&](Value value) { numbers.insert({value, numbers.size()}); };
  llvm::for_each(block.getArguments(), number);
  for (Operation &op : block.without_terminator()) {
    artifact::Part &part = *message.add_parts();
    part.set_op(add(op.getName().getStringRef(), kernelConfig(&op)));
    for (Value operand : op.getOperands()) {
      part.add_operands(numbers.lookup(operand));
    }
    for (Type type : op.getResultTypes()) {
      part.add_results(tensorOf(type));
    }
    llvm::for_each(op.getResults(), number);
  }
  for (Value result : block.getTerminator()->getOperands()) {
    message.add_results(numbers.lookup(result));
  }
  return numberOf(message);
}
