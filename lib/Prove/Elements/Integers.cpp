//===- Integers.cpp - Integers of tensors that do not wrap ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements of integers are numbers modulo a power of two: what is said of their
// sums and products holds of these. Their order, and which place they are, is
// known only where they are shown to be within their type.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/ScalarFunctions.h"
#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <algorithm>

using namespace divisi::rewrite;

/// No tensor has so many elements along a dim: no machine addresses more bytes.
static constexpr int64_t kMostExtent = int64_t(1) << 47;

/// A sum of indices, sizes and integers of a rule; nothing of others.
std::optional<Polynomial> divisi::rewrite::wholeOf(const Sum &sum) {
  Polynomial result;
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    Product product;
    for (const FactorRef &factor : monomial.factors) {
      if (factor->kind != Factor::Kind::Integer) {
        return std::nullopt;
      }
      product.push_back(factor->integers[0].atom());
    }
    if (coefficient.below != 1 || !monomial.binders.empty()) {
      return std::nullopt;
    }
    result.add(std::move(product), coefficient.above);
  }
  return result;
}

bool SymbolicEvaluator::isWithin(const Polynomial &integer, int64_t least,
                                 int64_t most) {
  if (auto number = integer.number()) {
    return *number >= least && *number <= most;
  }
  std::map<std::string, AtomRef> atoms;
  addAtoms(integer, atoms);
  // An extent may be made of indices, which have extents; what is no extent may
  // have a bound that is one.
  for (size_t count = 0; count != atoms.size();) {
    count = atoms.size();
    facts_.addRelated(atoms);
    for (const auto &[key, atom] : std::map(atoms)) {
      if (auto extent = facts_.extentOf(*atom)) {
        addAtoms(*extent, atoms);
      }
    }
  }
  FactScope scope(facts_);
  for (const auto &[key, atom] : atoms) {
    if (atom->kind == Atom::Kind::Size && atom->isPositive) {
      facts_.push(Polynomial(kMostExtent) - Polynomial(atom),
                  Facts::Relation::AtLeast);
    }
  }
  return facts_.isAtLeastZero(integer - Polynomial(least)) &&
         facts_.isAtLeastZero(Polynomial(most) - integer);
}

bool SymbolicEvaluator::fits(const Polynomial &integer,
                             const std::string &type) {
  auto range = integersOf(type);
  return range && isWithin(integer, range->first, range->second);
}

std::optional<Polynomial>
SymbolicEvaluator::unwrapped(const Sum &sum, const std::string &type) {
  std::optional<Polynomial> whole = wholeOf(sum);
  return whole && fits(*whole, type) ? whole : std::nullopt;
}

namespace {

/// An integer that is something of indices and sizes, and something between
/// two numbers.
struct Bounded {
  Polynomial whole;
  int64_t least = 0, most = 0;
};

} // namespace

/// Of factors that come from narrower types.
static std::optional<Bounded> boundedOf(const Sum &sum) {
  Sum rest = sum;
  Bounded result;
  for (const auto &[key, term] : sum.terms) {
    Sum alone(term.first, term.second);
    if (auto whole = wholeOf(alone)) {
      result.whole = result.whole + *whole;
      continue;
    }
    const auto &[monomial, coefficient] = term;
    if (coefficient.below != 1 || !monomial.binders.empty()) {
      return std::nullopt;
    }
    __int128 least = coefficient.above, most = least;
    for (const FactorRef &factor : monomial.factors) {
      auto range = rangeOf(*factor);
      if (!range) {
        return std::nullopt;
      }
      __int128 ends[] = {least * range->first, least * range->second,
                         most * range->first, most * range->second};
      least = *std::min_element(std::begin(ends), std::end(ends));
      most = *std::max_element(std::begin(ends), std::end(ends));
      if (least < -INT64_MAX / 2 || most > INT64_MAX / 2) {
        return std::nullopt;
      }
    }
    if (__builtin_add_overflow(result.least, int64_t(least), &result.least) ||
        __builtin_add_overflow(result.most, int64_t(most), &result.most)) {
      return std::nullopt;
    }
  }
  return result;
}

/// Whether small < large, of integers of that type.
Sum SymbolicEvaluator::lessInteger(const Sum &small, const Sum &large,
                                   const std::string &type) {
  Sum one(Fraction{1, 1});
  if (small.key() == large.key()) {
    return Sum();
  }
  auto range = integersOf(type);
  auto isUnwrapped = [&](const Sum &sum) {
    std::optional<Bounded> bounded = range ? boundedOf(sum) : std::nullopt;
    return bounded &&
           isWithin(bounded->whole + Polynomial(bounded->least), range->first,
                    range->second) &&
           isWithin(bounded->whole + Polynomial(bounded->most), range->first,
                    range->second);
  };
  if (isUnwrapped(small) && isUnwrapped(large)) {
    Sum more = large - small;
    if (auto whole = wholeOf(more)) {
      return isKnown(*whole - Polynomial(1)) ? one : Sum();
    }
    if (std::optional<Bounded> bounded = boundedOf(more)) {
      Polynomial least = bounded->whole + Polynomial(bounded->least);
      Polynomial most = bounded->whole + Polynomial(bounded->most);
      if (facts_.isAtLeastZero(least - Polynomial(1))) {
        return one;
      }
      if (facts_.isAtLeastZero(Polynomial(0) - most)) {
        return Sum();
      }
    }
  }
  Factor factor;
  factor.name = typedName("less", type);
  factor.operands = {small, large};
  factor.isBoolean = true;
  return Sum(makeFactor(std::move(factor)));
}

/// The largest or smallest of two integers that do not wrap, if it is known
/// which of them that is.
std::optional<Sum> SymbolicEvaluator::chosenInteger(const std::string &op,
                                                    const std::string &type,
                                                    const std::vector<Sum> &x) {
  std::optional<Polynomial> first = unwrapped(x[0], type),
                            second = unwrapped(x[1], type);
  if (!first || !second) {
    return std::nullopt;
  }
  if (facts_.isAtLeastZero(*first - *second)) {
    return x[op == "max" ? 0 : 1];
  }
  if (facts_.isAtLeastZero(*second - *first)) {
    return x[op == "max" ? 1 : 0];
  }
  return std::nullopt;
}

/// What is left of an integer by a power of two: its low bits, for that divides
/// the number at which it wraps. Or an integer that is below what divides it.
std::optional<Sum> SymbolicEvaluator::remainder(const SymbolicCall &call,
                                                const std::string &type,
                                                const std::vector<Sum> &x) {
  auto range = integersOf(type);
  if (!range) {
    return std::nullopt;
  }
  std::optional<Polynomial> whole = unwrapped(x[0], type),
                            by = unwrapped(x[1], type);
  if (whole && by && facts_.isAtLeastZero(*whole) &&
      facts_.isAtLeastZero(*by - *whole - Polynomial(1))) {
    return x[0];
  }
  auto number = by ? by->number() : std::nullopt;
  bool isFloor = range->first == 0 || !std::get<bool>(attribute(call, "fmod"));
  if (!number || *number <= 0 || (*number & (*number - 1)) != 0 || !isFloor) {
    return std::nullopt;
  }
  Sum low;
  for (const auto &[key, term] : x[0].terms) {
    const auto &[monomial, coefficient] = term;
    if (coefficient.below != 1) {
      return std::nullopt;
    }
    int64_t left = coefficient.above & (*number - 1);
    if (left != 0) {
      low = low + Sum(monomial, Fraction{left, 1});
    }
  }
  return bitsOf("and", type, {low, Sum(Fraction{*number - 1, 1})});
}

/// An element of a tensor of integers as a place.
Polynomial SymbolicEvaluator::integerOf(const Sum &sum,
                                        const std::string &type) {
  if (auto whole = wholeOf(sum)) {
    return fits(*whole, type)
               ? *whole
               : Polynomial(elementAtom(functionOf("as " + type, {sum})));
  }
  return Polynomial(elementAtom(sum));
}

/// An operand's element as what multiplies or folds it takes it: integers are
/// those of its own type.
Sum SymbolicEvaluator::widened(const SymbolicCall &call, size_t operand,
                               const Index &place) {
  Sum value = at(call.operands[operand], place);
  std::string from = typeOf(call.operands[operand]);
  return from == call.element || isFloat(from)
             ? value
             : castOf(from, call.element, value);
}
