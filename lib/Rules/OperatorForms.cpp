//===- OperatorForms.cpp - Operators of nn by name ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an operator says about its result, inferType and the verifier, is asked
// for each class of the dialect's own list: there is no other.
//
//===----------------------------------------------------------------------===//

#include "lib/Rules/OperatorForms.h"

#include "dialects/NN/NN.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace divisi;
using namespace divisi::rewrite;

/// What is known of one class.
using Infer = LogicalResult (*)(OperationState &state, bool isTyped);

/// How many operands it takes: at least and at most.
template <typename OpT> static std::pair<size_t, size_t> operandCounts() {
  if constexpr (OpT::template hasTrait<OpTrait::ZeroOperands>()) {
    return {0, 0};
  } else if constexpr (OpT::template hasTrait<OpTrait::OneOperand>()) {
    return {1, 1};
  } else if constexpr (OpT::template hasTrait<
                           OpTrait::NOperands<2>::template Impl>()) {
    return {2, 2};
  } else if constexpr (OpT::template hasTrait<
                           OpTrait::NOperands<3>::template Impl>()) {
    return {3, 3};
  } else if constexpr (OpT::template hasTrait<
                           OpTrait::AtLeastNOperands<3>::template Impl>()) {
    return {3, SIZE_MAX};
  } else {
    return {1, SIZE_MAX};
  }
}

template <typename OpT>
static LogicalResult infer(OperationState &state, bool isTyped) {
  auto fail = [&] { return mlir::emitError(state.location); };
  auto [least, most] = operandCounts<OpT>();
  size_t count = state.operands.size();
  if (count < least || count > most) {
    return fail() << "it takes " << (most == least ? "" : "at least ") << least
                  << " operands, got " << count;
  }
  ArrayRef<StringRef> names = OpT::getAttributeNames();
  for (NamedAttribute attribute : state.attributes) {
    if (!llvm::is_contained(names, attribute.getName().getValue())) {
      return fail() << "it has no attribute '" << attribute.getName().getValue()
                    << "'; expected "
                    << (names.empty() ? "none" : llvm::join(names, ", "));
    }
  }
  DictionaryAttr dictionary =
      state.attributes.getDictionary(state.getContext());
  if constexpr (OpT::hasProperties()) {
    auto &properties = state.getOrAddProperties<typename OpT::Properties>();
    // Rules spell what elsewhere goes without saying.
    OpT::populateDefaultProperties(state.name, properties);
    Attribute defaults =
        OpT::getPropertiesAsAttr(state.getContext(), properties);
    for (NamedAttribute attribute :
         defaults ? cast<DictionaryAttr>(defaults).getValue()
                  : ArrayRef<NamedAttribute>()) {
      if (!state.attributes.get(attribute.getName())) {
        return fail() << "it lacks the attribute '"
                      << attribute.getName().getValue()
                      << "'; expected all of them";
      }
    }
    if (failed(OpT::setPropertiesFromAttr(properties, dictionary, fail))) {
      return failure();
    }
  }
  if (failed(nn::adaptorOf<OpT>(state).verify(state.location))) {
    return failure();
  }
  if constexpr (requires(typename OpT::Adaptor adaptor) {
                  OpT::inferType(adaptor, fail);
                }) {
    if (!isTyped) {
      nn::inferResult<OpT>(state);
      return success(!state.types.empty());
    }
  }
  return isTyped
             ? success()
             : fail() << "its result's type is not its own to say; expected "
                         "one, as in ': float[m, n]'";
}

/// Adds those that rules may have: functions of tensors alone.
template <typename OpT>
static void add(std::map<std::string, Infer, std::less<>> &operators) {
  if constexpr (OpT::template hasTrait<nn::LoopInterface::Trait>() &&
                OpT::template hasTrait<OpTrait::OneResult>() &&
                OpT::template hasTrait<OpTrait::ZeroRegions>() &&
                !std::is_same_v<OpT, nn::ConstantOp>) {
    operators.emplace(OpT::getOperationName().drop_front(3).str(), infer<OpT>);
  }
}

template <typename... Ops>
static std::map<std::string, Infer, std::less<>> allOperators() {
  std::map<std::string, Infer, std::less<>> operators;
  (add<Ops>(operators), ...);
  return operators;
}

static Infer findOperator(StringRef name) {
  static const auto operators = allOperators<
#define GET_OP_LIST
#include "dialects/NN/NNOps.cpp.inc"
      >();
  auto found = operators.find(std::string_view(name));
  return found == operators.end() ? nullptr : found->second;
}

/// The text of an error without the operator's name, which the rule gives.
static std::string plainMessage(StringRef message, StringRef name) {
  message.consume_front(("'nn." + name + "' op ").str());
  return message.str();
}

Expected<Operation *> divisi::rewrite::buildOperator(
    OpBuilder &builder, Location location, StringRef name, ValueRange operands,
    DictionaryAttr attributes, std::optional<RankedTensorType> type) {
  Infer infer = findOperator(name);
  if (!infer) {
    return makeError(ExitCode::Unsupported, "rules have no operator '",
                     name.str(),
                     "'; expected a function of tensors of the nn dialect");
  }
  MLIRContext *context = attributes.getContext();
  std::string message;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (message.empty()) {
      message = plainMessage(diagnostic.str(), name);
    }
    return success();
  });
  OperationState state(location, ("nn." + name).str());
  state.addOperands(operands);
  state.addAttributes(attributes.getValue());
  if (type) {
    state.addTypes(*type);
  }
  if (failed(infer(state, type.has_value()))) {
    return Status(ExitCode::Invalid, message);
  }
  Operation *op = builder.create(state);
  if (failed(verify(op))) {
    op->erase();
    return Status(ExitCode::Invalid, message);
  }
  return op;
}
