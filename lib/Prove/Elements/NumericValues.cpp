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
#include <cstdlib>

using namespace divisi::rewrite;

namespace {

/// Terms as numbers; nothing where they have a name that has no number.
class Evaluator {
public:
  Evaluator(const ElementValues &elements, const FunctionValues &functions)
      : elements_(elements), functions_(functions) {}
  std::optional<double> of(const Sum &sum) const;
  std::optional<int64_t> of(const Polynomial &polynomial) const;

private:
  std::optional<double> of(const Factor &factor) const;
  std::optional<double> foldOf(const Factor &factor) const;
  std::optional<double> functionOf(const Factor &factor,
                                   const std::vector<double> &x) const;
  std::optional<int64_t> of(const Atom &atom) const;

  const ElementValues &elements_;
  const FunctionValues &functions_;
};

} // namespace

/// Bits of integers, each of which the table says.
static double bitsBy(int64_t table, const std::vector<double> &operands) {
  uint64_t result = 0;
  for (unsigned bit = 0; bit != 64; ++bit) {
    unsigned place = 0;
    for (size_t i = 0; i != operands.size(); ++i) {
      place |= unsigned(uint64_t(int64_t(operands[i])) >> bit & 1) << i;
    }
    result |= uint64_t(table >> place & 1) << bit;
  }
  return double(int64_t(result));
}

/// What the names of terms mean, and of all others what is said of them.
std::optional<double>
Evaluator::functionOf(const Factor &factor,
                      const std::vector<double> &x) const {
  const std::string &name = factor.name;
  if (name == "max" || name.starts_with("max of ")) {
    return *std::max_element(x.begin(), x.end());
  }
  if (name.starts_with("min of ")) {
    return *std::min_element(x.begin(), x.end());
  }
  if (name == "above 0") {
    return x[0] > 0 ? 1 : 0;
  }
  if (name.starts_with("less of ")) {
    return x[0] < x[1] ? 1 : 0;
  }
  if (name == "inverse") {
    return 1 / x[0];
  }
  if (name.starts_with("real ")) {
    char *end = nullptr;
    double value = std::strtod(name.c_str() + 5, &end);
    return *end == 0 ? std::optional(value) : std::nullopt;
  }
  if (name == "wrapped") {
    return x[0] < 0 ? x[0] + x[1] : x[0];
  }
  if (name.starts_with("bits of ")) {
    return bitsBy(*factor.integers[0].number(), x);
  }
  return functions_(name, x);
}

std::optional<int64_t> Evaluator::of(const Atom &atom) const {
  if (atom.kind == Atom::Kind::Element) {
    std::optional<double> value = of(*atom.element);
    return value ? std::optional(int64_t(*value)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<int64_t> Evaluator::of(const Polynomial &polynomial) const {
  int64_t result = 0;
  for (const auto &[atoms, coefficient] : polynomial.terms()) {
    int64_t product = coefficient;
    for (const AtomRef &atom : atoms) {
      std::optional<int64_t> value = of(*atom);
      if (!value) {
        return std::nullopt;
      }
      product *= *value;
    }
    result += product;
  }
  return result;
}

std::optional<double> Evaluator::of(const Factor &factor) const {
  if (factor.kind == Factor::Kind::Fold) {
    return foldOf(factor);
  }
  std::vector<int64_t> integers;
  for (const Polynomial &integer : factor.integers) {
    std::optional<int64_t> value = of(integer);
    if (!value) {
      return std::nullopt;
    }
    integers.push_back(*value);
  }
  std::vector<double> operands;
  for (const Sum &operand : factor.operands) {
    std::optional<double> value = of(operand);
    if (!value) {
      return std::nullopt;
    }
    operands.push_back(*value);
  }
  switch (factor.kind) {
  case Factor::Kind::Element:
    return elements_(std::stoul(factor.name.substr(1)), integers);
  case Factor::Kind::Integer:
    return double(integers[0]);
  case Factor::Kind::Holds:
    return integers[0] >= 0 ? 1 : 0;
  case Factor::Kind::Function:
    return functionOf(factor, operands);
  case Factor::Kind::Fold:
    break;
  }
  return std::nullopt;
}

/// Of nothing it is the neutral element; few are written out.
std::optional<double> Evaluator::foldOf(const Factor &factor) const {
  bool isEmpty = std::ranges::any_of(factor.binders, [](const Binder &binder) {
    return binder.extent.number() == 0;
  });
  return isEmpty && factor.name == "prod" ? std::optional(1.0) : std::nullopt;
}

std::optional<double> Evaluator::of(const Sum &sum) const {
  double result = 0;
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    double product = double(coefficient.above) / double(coefficient.below);
    for (const FactorRef &factor : monomial.factors) {
      std::optional<double> value = of(*factor);
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

std::optional<double> divisi::rewrite::evaluateElement(
    const SymbolicRule &rule, const std::vector<int64_t> &index,
    const ElementValues &elements, const FunctionValues &functions) {
  Facts facts;
  std::multimap<std::string, const SymbolicRule *> definitions;
  Values symbols;
  std::map<std::string, Sum> reals;
  Evaluator evaluator(elements, functions);
  // Where an element depends on others, it is in the case that these are in.
  constexpr int mostCases = 8;
  for (int i = 0; i != mostCases; ++i) {
    ElementContext context{facts, definitions, {}};
    context.reading = Reading::Reals;
    SymbolicEvaluator source(rule, rule.source, symbols, reals, context);
    try {
      return evaluator.of(
          source.at(rule.source.results[0], Index(index.begin(), index.end())));
    } catch (const SplitAt &split) {
      std::optional<int64_t> value = evaluator.of(split.condition);
      if (!value) {
        return std::nullopt;
      }
      facts.push(*value >= 0 ? split.condition
                             : Polynomial(-1) - split.condition,
                 Facts::Relation::AtLeast);
    }
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>>
divisi::rewrite::shapeByElements(const SymbolicRule &rule) {
  Facts facts;
  std::multimap<std::string, const SymbolicRule *> definitions;
  Values symbols;
  std::map<std::string, Sum> reals;
  ElementContext context{facts, definitions, {}};
  SymbolicEvaluator source(rule, rule.source, symbols, reals, context);
  std::vector<int64_t> extents;
  for (const Polynomial &extent : source.shape(rule.source.results[0])) {
    std::optional<int64_t> number = extent.number();
    if (!number) {
      return std::nullopt;
    }
    extents.push_back(*number);
  }
  return extents;
}

std::vector<std::string> divisi::rewrite::operatorsByElements() {
  return SymbolicEvaluator::definedOperators();
}
