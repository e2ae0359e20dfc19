//===- NumericValues.cpp - Elements as numbers ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/ElementProver.h"

#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <algorithm>

using namespace divisi::rewrite;

/// A function of numbers, or an element of a variable.
static std::optional<double> valueOf(const Sum &sum,
                                     const ElementValues &elements);

static std::optional<double> valueOf(const Factor &factor,
                                     const ElementValues &elements) {
  std::vector<double> operands;
  for (const Sum &operand : factor.operands) {
    std::optional<double> value = valueOf(operand, elements);
    if (!value) {
      return std::nullopt;
    }
    operands.push_back(*value);
  }
  if (factor.kind == Factor::Kind::Element) {
    std::vector<int64_t> index;
    for (const Polynomial &place : factor.integers) {
      std::optional<int64_t> number = place.number();
      if (!number) {
        return std::nullopt;
      }
      index.push_back(*number);
    }
    return elements(std::stoul(factor.name.substr(1)), index);
  }
  if (factor.name == "max") {
    return *std::max_element(operands.begin(), operands.end());
  }
  if (factor.name == "above 0") {
    return operands[0] > 0 ? 1 : 0;
  }
  if (factor.name == "inverse") {
    return 1 / operands[0];
  }
  return std::nullopt;
}

static std::optional<double> valueOf(const Sum &sum,
                                     const ElementValues &elements) {
  double result = 0;
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    double product = double(coefficient.above) / double(coefficient.below);
    for (const FactorRef &factor : monomial.factors) {
      std::optional<double> value = valueOf(*factor, elements);
      if (!value) {
        return std::nullopt;
      }
      product *= *value;
    }
    if (!monomial.binders.empty()) {
      return std::nullopt;
    }
    result += product;
  }
  return result;
}

std::optional<double>
divisi::rewrite::evaluateElement(const SymbolicRule &rule,
                                 const std::vector<int64_t> &index,
                                 const ElementValues &elements) {
  Facts facts;
  std::multimap<std::string, const SymbolicRule *> definitions;
  ElementContext context{facts, definitions, {}};
  Values symbols;
  std::map<std::string, Sum> reals;
  SymbolicEvaluator source(rule, rule.source, symbols, reals, context);
  return valueOf(
      source.at(rule.source.results[0], Index(index.begin(), index.end())),
      elements);
}
