//===- Uninterpreted.cpp - Operators without a definition -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <algorithm>

using namespace divisi::rewrite;

/// The operator with all that its attributes say, and the types.
std::string SymbolicEvaluator::nameOf(const SymbolicCall &call) {
  std::string name = call.op;
  for (const auto &[key, value] : call.attributes) {
    name += " " + key + "=";
    if (const auto *text = std::get_if<std::string>(&value)) {
      name += *text;
    } else if (const auto *flag = std::get_if<bool>(&value)) {
      name += *flag ? "true" : "false";
    } else if (const auto *expr = std::get_if<Expr>(&value)) {
      name +=
          isReal(*expr, rule_.reals) ? real(*expr).key() : integer(*expr).key();
    } else {
      for (const Expr &each : std::get<std::vector<Expr>>(value)) {
        name += integer(each).key() + ",";
      }
    }
  }
  for (size_t operand : call.operands) {
    name += " " + typeOf(operand);
  }
  return name + " -> " + call.element;
}

std::vector<Sum> SymbolicEvaluator::operands(const SymbolicCall &call,
                                             const Index &index) {
  std::vector<Sum> result;
  Index wanted = shapeOf(call);
  for (size_t operand : call.operands) {
    result.push_back(at(operand, operandIndex(operand, index, wanted)));
  }
  return result;
}

/// The element of an operand at a place made of these indices.
Sum SymbolicEvaluator::lambdaBody(size_t operand, const Index &place,
                                  const std::vector<Binder> &binders) {
  try {
    return at(operand, place);
  } catch (const SplitAt &split) {
    for (const Binder &binder : binders) {
      if (split.condition.mentions(*binder.index)) {
        return foldHalves(
            binder.index,
            [&](const Polynomial &) {
              return lambdaBody(operand, place, binders);
            },
            split.condition);
      }
    }
    throw;
  }
}

/// Whether all of an operator's results along a dim of its first operand are
/// made alike, whatever the place.
static bool isAlike(const std::vector<size_t> &dims, size_t dim) {
  return std::find(dims.begin(), dims.end(), dim) == dims.end();
}

/// Those of which dimsThrough() knows something.
const std::set<std::string> &SymbolicEvaluator::operatorsAlong() {
  static const std::set<std::string> all = {
      "softmax", "normalize",  "top_k",  "arg_reduce",
      "rotary",  "conv_dgrad", "scatter"};
  return all;
}

/// Operators that are not listed read all of their operands.
std::vector<std::optional<size_t>>
SymbolicEvaluator::dimsThrough(const SymbolicCall &call, size_t operand) {
  const std::string &op = call.op;
  size_t rank = shape(call.operands[operand]).size();
  std::vector<std::optional<size_t>> through(rank);
  if (op == "softmax" || op == "normalize" || op == "top_k" ||
      op == "arg_reduce") {
    std::vector<size_t> axes = op == "normalize"
                                   ? dimList(call, "axes")
                                   : std::vector{size_t(number(call, "axis"))};
    for (size_t dim = 0; dim != rank; ++dim) {
      size_t gone = op == "arg_reduce" && dim > axes[0] ? 1 : 0;
      if (isAlike(axes, dim)) {
        through[dim] = dim - gone;
      }
    }
  } else if (op == "rotary") {
    for (size_t dim = 0; dim + 1 < rank; ++dim) {
      through[dim] = dim;
    }
  } else if (op == "conv_dgrad" && operand == 0) {
    through[0] = 0;
  } else if (op == "scatter") {
    // Rows that are set are behind the dims of their numbers.
    size_t batch = size_t(number(call, "batch_dims"));
    size_t rows = operand == 0   ? batch + 1
                  : operand == 1 ? rank
                                 : shape(call.operands[1]).size();
    for (size_t dim = 0; dim != rank; ++dim) {
      if (dim < batch) {
        through[dim] = dim;
      } else if (dim >= rows) {
        through[dim] = batch + 1 + dim - rows;
      }
    }
  }
  return through;
}

/// The operator with attributes that name dims of its first operand by their
/// order among those that do not go through.
SymbolicCall SymbolicEvaluator::withDimsInside(const SymbolicCall &call) {
  std::vector<std::optional<size_t>> inside;
  if (!call.operands.empty()) {
    size_t count = 0;
    for (const std::optional<size_t> &dim : dimsThrough(call, 0)) {
      inside.push_back(dim ? std::nullopt : std::optional(count++));
    }
  }
  SymbolicCall named = call;
  for (const char *attribute : {"axis", "axes"}) {
    auto found = named.attributes.find(attribute);
    if (found == named.attributes.end()) {
      continue;
    }
    bool isList = std::holds_alternative<std::vector<Expr>>(found->second);
    std::vector<size_t> dims =
        isList ? dimList(call, attribute)
               : std::vector<size_t>{size_t(number(call, attribute))};
    std::string text;
    for (size_t dim : dims) {
      bool isInside = dim < inside.size() && inside[dim];
      text += isInside ? std::to_string(*inside[dim]) + ","
                       : "through " + std::to_string(dim) + ",";
    }
    found->second = text;
  }
  return named;
}

/// The index of a dim that goes through, also if the operand repeats it.
Polynomial SymbolicEvaluator::placeThrough(const Polynomial &extent,
                                           const Polynomial &wanted,
                                           const Polynomial &index) {
  if (extent.number() == 1 || extent == wanted) {
    return extent.number() == 1 ? Polynomial(0) : index;
  }
  if (!facts_.isAtLeastZero(extent - Polynomial(2))) {
    throw SplitExtent{extent};
  }
  return index;
}

/// A function of all elements along the dims that do not go through, and of
/// the indices of the result that no operand has.
Sum SymbolicEvaluator::uninterpreted(const SymbolicCall &call,
                                     const Index &index) {
  bool isOfFloats =
      std::any_of(call.operands.begin(), call.operands.end(),
                  [&](size_t operand) { return isFloat(typeOf(operand)); });
  bool isTurning = isOfFloats && !isFloat(call.element);
  Scoped<Reading> reading(context_.reading,
                          isTurning && context_.reading == Reading::Rounding
                              ? Reading::Bits
                              : context_.reading);
  context_.isRounded |= isFloat(call.element);
  std::vector<bool> isPassedThrough(index.size());
  std::vector<Sum> operands;
  Index wanted = shapeOf(call);
  for (size_t i = 0; i != call.operands.size(); ++i) {
    Index own = shape(call.operands[i]);
    auto through = dimsThrough(call, i);
    FactScope scope(facts_);
    Factor lambda;
    lambda.kind = Factor::Kind::Fold;
    lambda.name = "of";
    std::vector<std::unique_ptr<BoundIndex>> bound;
    Index place(own.size());
    for (size_t dim = 0; dim != own.size(); ++dim) {
      if (auto result = through[dim]) {
        place[dim] = placeThrough(own[dim], wanted[*result], index[*result]);
        isPassedThrough[*result] = true;
        continue;
      }
      bound.push_back(std::make_unique<BoundIndex>(context_.depth));
      const AtomRef &each = bound.back()->atom();
      facts_.pushIndex(each, own[dim]);
      lambda.binders.push_back({each, own[dim]});
      place[dim] = Polynomial(each);
    }
    lambda.operands = {lambdaBody(call.operands[i], place, lambda.binders)};
    operands.emplace_back(makeFactor(std::move(lambda)));
  }
  std::vector<Polynomial> rest;
  for (size_t dim = 0; dim != index.size(); ++dim) {
    if (!isPassedThrough[dim]) {
      rest.push_back(index[dim]);
    }
  }
  bool areBits = isOfFloats && context_.reading == Reading::Bits;
  return functionOf((areBits ? "=" + context_.within : "") +
                        nameOf(withDimsInside(call)),
                    std::move(operands), std::move(rest));
}
