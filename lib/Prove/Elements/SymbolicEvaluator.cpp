//===- SymbolicEvaluator.cpp - Elements of a side, as terms ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an element is followed: through indices, folds and operators of which
// nothing is known. What single operators make is in ElementDefinitions.cpp.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include "divisi/Prove/ElementProver.h"

#include <algorithm>

using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Polynomial SymbolicEvaluator::integer(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Number:
    return Polynomial(expr.value);
  case Expr::Kind::Name:
    return symbols_.at(expr.name);
  case Expr::Kind::Add:
    return integer(expr.operands[0]) + integer(expr.operands[1]);
  case Expr::Kind::Sub:
    return integer(expr.operands[0]) - integer(expr.operands[1]);
  case Expr::Kind::Mul:
    return integer(expr.operands[0]) * integer(expr.operands[1]);
  default:
    return quotientOf(integer(expr.operands[0]), integer(expr.operands[1]));
  }
}

Sum SymbolicEvaluator::real(const Expr &expr) {
  if (expr.kind == Expr::Kind::Real) {
    return numberOf(expr.real);
  }
  if (!isReal(expr, rule_.reals)) {
    return numberOf(integer(expr));
  }
  if (expr.kind == Expr::Kind::Name) {
    return reals_.at(expr.name);
  }
  Sum left = real(expr.operands[0]), right = real(expr.operands[1]);
  return left * (expr.kind == Expr::Kind::Mul ? right : inverse(right));
}

const SymbolicValue &SymbolicEvaluator::attribute(const SymbolicCall &call,
                                                  const char *name) {
  auto found = call.attributes.find(name);
  if (found == call.attributes.end()) {
    throw GivenUp();
  }
  return found->second;
}

Index SymbolicEvaluator::list(const SymbolicCall &call, const char *name) {
  Index result;
  for (const Expr &expr : std::get<std::vector<Expr>>(attribute(call, name))) {
    result.push_back(integer(expr));
  }
  return result;
}

int64_t SymbolicEvaluator::number(const SymbolicCall &call, const char *name) {
  std::optional<int64_t> value =
      integer(std::get<Expr>(attribute(call, name))).number();
  if (!value) {
    throw GivenUp();
  }
  return *value;
}

std::vector<size_t> SymbolicEvaluator::dimList(const SymbolicCall &call,
                                               const char *name) {
  std::vector<size_t> result;
  for (const Polynomial &dim : list(call, name)) {
    std::optional<int64_t> value = dim.number();
    if (!value) {
      throw GivenUp();
    }
    result.push_back(size_t(*value));
  }
  return result;
}

/// An extent that is no expression has the name of all that it is made of.
Index SymbolicEvaluator::shape(size_t value) {
  if (value < rule_.variables.size()) {
    Index result;
    for (const std::optional<Expr> &extent : rule_.variables[value]) {
      result.push_back(integer(*extent));
    }
    return result;
  }
  return shapeOf(call(value));
}

Index SymbolicEvaluator::shapeOf(const SymbolicCall &made) {
  if (std::optional<Index> defined = definedShape(made)) {
    return *defined;
  }
  if (!made.isTyped && made.depends.size() != made.dims.size()) {
    throw GivenUp(); // What was fitted was not shown yet.
  }
  Index result, extents;
  for (size_t operand : made.operands) {
    Index own = shape(operand);
    extents.insert(extents.end(), own.begin(), own.end());
  }
  for (size_t dim = 0; dim != made.dims.size(); ++dim) {
    if (made.dims[dim]) {
      result.push_back(integer(*made.dims[dim]));
    } else {
      std::string name = "<" + made.function + " " + std::to_string(dim);
      for (const Expr &expr : made.integers) {
        name += "," + integer(expr).key();
      }
      for (size_t i = 0; i != extents.size(); ++i) {
        name += made.depends[dim][i] ? ";" + extents[i].key() : ";";
      }
      result.emplace_back(sizeAtom(name + ">", false));
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Whether it is known to be at least 0, or below; throws where neither is.
bool SymbolicEvaluator::isKnown(const Polynomial &condition) {
  if (facts_.isAtLeastZero(condition)) {
    return true;
  }
  if (facts_.isAtLeastZero(Polynomial(-1) - condition)) {
    return false;
  }
  throw SplitAt{condition};
}

bool divisi::rewrite::hasBound(const Polynomial &condition) {
  return std::any_of(
      condition.terms().begin(), condition.terms().end(), [](const auto &term) {
        return std::any_of(term.first.begin(), term.first.end(),
                           [](const AtomRef &atom) {
                             return atom->kind == Atom::Kind::Index &&
                                    !atom->key.starts_with("@r");
                           });
      });
}

/// `first` where all conditions are at least 0, else `second`.
Sum SymbolicEvaluator::inside(const std::vector<Polynomial> &conditions,
                              const std::function<Sum()> &first,
                              const Sum &second) {
  bool isInside = std::all_of(
      conditions.begin(), conditions.end(),
      [&](const Polynomial &condition) { return isKnown(condition); });
  return isInside ? first() : second;
}

/// The same of a window that moves with what it is folded over: such a
/// condition is a factor.
Sum SymbolicEvaluator::insideWindow(const std::vector<Polynomial> &conditions,
                                    const std::function<Sum()> &first,
                                    const Sum &second, size_t from) {
  for (size_t i = from; i != conditions.size(); ++i) {
    try {
      if (!isKnown(conditions[i])) {
        return second;
      }
    } catch (const SplitAt &split) {
      if (!hasBound(split.condition)) {
        throw;
      }
      FactScope scope(facts_);
      facts_.push(conditions[i], Facts::Relation::AtLeast);
      return choose(conditions[i],
                    insideWindow(conditions, first, second, i + 1), second);
    }
  }
  return first();
}

/// index / by and index % by; throws where an index has to be split for that.
Division SymbolicEvaluator::divideIndex(const Polynomial &index,
                                        const Polynomial &by) {
  if (by.number() == 1) {
    return {index, Polynomial(0)};
  }
  Division division = divide(index, by);
  const Polynomial &rest = division.remainder;
  if (facts_.isAtLeastZero(rest) &&
      facts_.isAtLeastZero(by - Polynomial(1) - rest)) {
    return division;
  }
  for (const auto &[product, coefficient] : rest.terms()) {
    bool isIndex = product.size() == 1 && coefficient == 1 &&
                   product[0]->kind == Atom::Kind::Index;
    std::optional<Polynomial> extent =
        isIndex ? facts_.extentOf(*product[0]) : std::nullopt;
    if (extent && divideExactly(*extent, by)) {
      throw SplitIndex{product[0], by};
    }
  }
  return {quotientOf(index, by), remainderOf(index, by)};
}

/// The index of an operand whose shape broadcasts to `wanted`.
Index SymbolicEvaluator::operandIndex(size_t operand, const Index &index,
                                      const Index &wanted) {
  Index extents = shape(operand), result;
  for (size_t dim = 0; dim != extents.size(); ++dim) {
    const Polynomial &extent = extents[dim];
    size_t aligned = dim + index.size() - extents.size();
    if (extent.number() != 1 && extent == wanted[aligned]) {
      result.push_back(index[aligned]);
      continue;
    }
    if (extent.number() == 1) {
      result.emplace_back(0);
      continue;
    }
    if (!facts_.isAtLeastZero(extent - Polynomial(2))) {
      if (facts_.isZero(extent - Polynomial(1))) {
        result.emplace_back(0);
        continue;
      }
      throw SplitExtent{extent};
    }
    result.push_back(index[aligned]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

const std::map<std::string, SymbolicEvaluator::Define> &
SymbolicEvaluator::definitions() {
  static const std::map<std::string, Define> all = {
      {"matmul", &SymbolicEvaluator::matmul},
      {"reduce", &SymbolicEvaluator::reduce},
      {"cumulate", &SymbolicEvaluator::cumulate},
      {"conv", &SymbolicEvaluator::conv},
      {"pool_sum", &SymbolicEvaluator::pool},
      {"pool_max", &SymbolicEvaluator::pool},
      {"transpose", &SymbolicEvaluator::transpose},
      {"slice", &SymbolicEvaluator::slice},
      {"pad", &SymbolicEvaluator::pad},
      {"concat", &SymbolicEvaluator::concat},
      {"broadcast", &SymbolicEvaluator::broadcast},
      {"gather", &SymbolicEvaluator::gather},
      {"take_along", &SymbolicEvaluator::takeAlong},
      {"insert", &SymbolicEvaluator::insert},
      {"attention", &SymbolicEvaluator::attention},
      {"iota", &SymbolicEvaluator::iota},
      {"quantize", &SymbolicEvaluator::scaled},
      {"dequantize", &SymbolicEvaluator::scaled},
  };
  return all;
}

SymbolicEvaluator::Define
SymbolicEvaluator::definitionOf(const std::string &op) {
  auto found = definitions().find(op);
  return found == definitions().end() ? nullptr : found->second;
}

std::vector<std::string> SymbolicEvaluator::definedOperators() {
  std::vector<std::string> all = {"reshape"};
  for (const auto &[op, definition] : definitions()) {
    all.push_back(op);
  }
  return all;
}

bool divisi::rewrite::isDefinedByElements(const std::string &op) {
  std::vector<std::string> all = SymbolicEvaluator::definedOperators();
  return std::find(all.begin(), all.end(), op) != all.end() ||
         SymbolicEvaluator::operatorsAlong().contains(op);
}

Sum SymbolicEvaluator::at(size_t value, const Index &index) {
  constexpr size_t mostSteps = 20000;
  if (++context_.steps > mostSteps) {
    throw GivenUp();
  }
  if (value < rule_.variables.size()) {
    if (variables_) {
      return (*variables_)[value](index);
    }
    Index place = index, extents = shape(value);
    for (size_t dim = 0; dim != place.size(); ++dim) {
      if (extents[dim].number() == 1) {
        place[dim] = Polynomial(0);
      }
    }
    return elementOf("x" + std::to_string(value), std::move(place),
                     rule_.elements[value] == "bool");
  }
  const SymbolicCall &made = call(value);
  if (made.op.empty()) {
    return splat(made);
  }
  if (made.op == "reshape") {
    return reshape(value, index);
  }
  if (Define definition = definitionOf(made.op)) {
    return (this->*definition)(made, index);
  }
  // Of one element, bits are what the operator makes of those of others.
  bool isOneOfBits = made.isElementwise && isFloat(made.element) &&
                     context_.reading == Reading::Bits;
  if (auto defined = isOneOfBits ? std::nullopt : define(made, index)) {
    return *defined;
  }
  return made.isElementwise ? elementwise(made, index)
                            : uninterpreted(made, index);
}
