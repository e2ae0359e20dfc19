//===- Folds.cpp - Folds over indices -------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/SymbolicEvaluator.h"

#include <algorithm>

using namespace divisi::rewrite;

/// Where a condition begins to hold as its index grows, or ends to; nothing
/// unless that is known to be within the extent. If it `splits`, it has to be
/// known whether what is not behind the extent is before it.
std::optional<SymbolicEvaluator::Change>
SymbolicEvaluator::changeOf(const Polynomial &condition, const Binder &binder,
                            bool splits) {
  std::optional<Polynomial> slope = condition.coefficientOf(*binder.index);
  std::optional<int64_t> number = slope ? slope->number() : std::nullopt;
  if (number != 1 && number != -1) {
    return std::nullopt;
  }
  Polynomial rest = condition - *slope * Polynomial(binder.index);
  // index + rest >= 0 begins at -rest, rest - index >= 0 ends behind rest.
  Change change{*number == 1,
                *number == 1 ? Polynomial(0) - rest : rest + Polynomial(1)};
  if (!facts_.isAtLeastZero(binder.extent - change.at)) {
    return std::nullopt;
  }
  if (facts_.isAtLeastZero(change.at)) {
    return change;
  }
  if (splits && !hasBound(change.at) &&
      !facts_.isAtLeastZero(Polynomial(-1) - change.at)) {
    throw SplitAt{change.at};
  }
  return std::nullopt;
}

/// Where a condition changes within the extent of its index, there are two
/// folds.
std::optional<Sum> SymbolicEvaluator::foldParts(const Polynomial &extent,
                                                const FoldKind &kind,
                                                const Body &body,
                                                const AtomRef &index,
                                                const Polynomial &condition) {
  std::optional<Change> change = changeOf(condition, {index, extent});
  if (!change) {
    return std::nullopt;
  }
  const Polynomial &at = change->at;
  Sum first = fold(at, kind, body);
  Sum second = fold(extent - at, kind,
                    [&](const Polynomial &each) { return body(each + at); });
  return kind.join(first, second);
}

/// The body where a condition about its index holds, and where it does not.
Sum SymbolicEvaluator::foldHalves(const AtomRef &index, const Body &body,
                                  const Polynomial &condition) {
  auto half = [&](const Polynomial &holds) {
    FactScope scope(facts_);
    facts_.push(holds, Facts::Relation::AtLeast);
    try {
      return body(Polynomial(index));
    } catch (const SplitAt &split) {
      if (!split.condition.mentions(*index)) {
        throw;
      }
      return foldHalves(index, body, split.condition);
    }
  };
  Sum first = half(condition);
  return choose(condition, first, half(Polynomial(-1) - condition));
}

static bool isCondition(const FactorRef &factor) {
  return factor->kind == Factor::Kind::Holds;
}

/// Without conditions that others of the same term say.
Sum SymbolicEvaluator::close(const Binder &binder, const FoldKind &kind,
                             const Sum &body) {
  Sum result;
  for (const auto &[key, term] : body.terms) {
    Monomial monomial = term.first;
    for (size_t i = 0; i < monomial.factors.size();) {
      FactScope scope(facts_);
      for (size_t j = 0; j != monomial.factors.size(); ++j) {
        if (j != i && isCondition(monomial.factors[j])) {
          facts_.push(monomial.factors[j]->integers[0],
                      Facts::Relation::AtLeast);
        }
      }
      if (isCondition(monomial.factors[i]) &&
          facts_.isAtLeastZero(monomial.factors[i]->integers[0])) {
        monomial.factors.erase(monomial.factors.begin() + ptrdiff_t(i));
      } else {
        ++i;
      }
    }
    result = result + closeTerm(binder, kind, std::move(monomial), term.second);
  }
  return kind.isSum ? result : kind.close(binder, result);
}

/// A term of a sum over an index; where a condition bounds the index, over
/// fewer.
Sum SymbolicEvaluator::closeTerm(const Binder &binder, const FoldKind &kind,
                                 Monomial monomial, Fraction coefficient) {
  if (!kind.isSum) {
    return Sum(std::move(monomial), coefficient);
  }
  for (size_t i = 0; i != monomial.factors.size(); ++i) {
    if (!isCondition(monomial.factors[i])) {
      continue;
    }
    std::optional<Change> change =
        changeOf(monomial.factors[i]->integers[0], binder, /*splits=*/true);
    if (!change) {
      continue;
    }
    const auto &[begins, at] = *change;
    monomial.factors.erase(monomial.factors.begin() + ptrdiff_t(i));
    Sum alone(std::move(monomial), coefficient);
    Polynomial extent = begins ? binder.extent - at : at;
    for (int64_t known : {0, 1}) {
      extent = facts_.isZero(extent - Polynomial(known)) ? Polynomial(known)
                                                         : extent;
    }
    if (extent.number() == 0) {
      return Sum();
    }
    Sum shifted =
        begins
            ? alone.with({{binder.index->key, Polynomial(binder.index) + at}})
            : alone;
    return close({binder.index, extent}, kind, shifted);
  }
  return kind.close(binder, Sum(std::move(monomial), coefficient));
}

/// Of rounded numbers, one after the other: there are no parts that are folded
/// first.
Sum SymbolicEvaluator::foldWhole(const Polynomial &extent, const FoldKind &kind,
                                 const Body &body) {
  if (kind.isChoice && extent.number() == 1) {
    return body(Polynomial(0));
  }
  BoundIndex bound(context_.depth);
  const AtomRef &index = bound.atom();
  FactScope scope(facts_);
  facts_.pushIndex(index, extent);
  try {
    return kind.close({index, extent}, body(Polynomial(index)));
  } catch (const SplitAt &split) {
    if (!split.condition.mentions(*index)) {
      throw;
    }
    return kind.close({index, extent},
                      foldHalves(index, body, split.condition));
  } catch (const SplitIndex &split) {
    if (split.index->key != index->key) {
      throw;
    }
    throw GivenUp();
  }
}

Sum SymbolicEvaluator::fold(const Polynomial &extent, const FoldKind &kind,
                            const Body &body) {
  if (kind.isInOrder) {
    return foldWhole(extent, kind, body);
  }
  if (kind.isSum && extent.number() == 0) {
    return Sum();
  }
  // A few are written out.
  constexpr int64_t few = 4;
  if (auto number = extent.number(); number && *number >= 1 && *number <= few) {
    Sum result = body(Polynomial(0));
    for (int64_t i = 1; i != *number; ++i) {
      result = kind.join(result, body(Polynomial(i)));
    }
    return result;
  }
  auto bound = std::make_optional<BoundIndex>(context_.depth);
  AtomRef index = bound->atom();
  std::optional<SplitAt> at;
  std::optional<SplitIndex> parts;
  {
    FactScope scope(facts_);
    facts_.pushIndex(index, extent);
    try {
      return close({index, extent}, kind, body(Polynomial(index)));
    } catch (const SplitAt &split) {
      if (!split.condition.mentions(*index)) {
        throw;
      }
      at = split;
    } catch (const SplitIndex &split) {
      if (split.index->key != index->key) {
        throw;
      }
      parts = split;
    }
  }
  bound.reset();
  if (parts) {
    std::optional<Polynomial> major = divideExactly(extent, parts->by);
    if (!major) {
      throw GivenUp();
    }
    return fold(*major, kind, [&](const Polynomial &one) {
      return fold(parts->by, kind, [&](const Polynomial &other) {
        return body(one * parts->by + other);
      });
    });
  }
  if (auto joined = foldParts(extent, kind, body, index, at->condition)) {
    return *joined;
  }
  bound.emplace(context_.depth);
  FactScope scope(facts_);
  facts_.pushIndex(index, extent);
  try {
    return close({index, extent}, kind, foldHalves(index, body, at->condition));
  } catch (const SplitIndex &split) {
    if (split.index->key != index->key) {
      throw;
    }
    throw GivenUp();
  }
}

Sum SymbolicEvaluator::foldAll(const Index &extents, const FoldKind &kind,
                               const std::function<Sum(const Index &)> &body) {
  Index indices;
  std::function<Sum()> next = [&]() -> Sum {
    if (indices.size() == extents.size()) {
      return body(indices);
    }
    return fold(extents[indices.size()], kind, [&](const Polynomial &each) {
      indices.push_back(each);
      struct Pop {
        Index &of;
        ~Pop() { of.pop_back(); }
      } pop{indices};
      return next();
    });
  };
  return next();
}

/// Of an operator's elements, as its type says.
SymbolicEvaluator::FoldKind
SymbolicEvaluator::foldOf(const std::string &kind, const SymbolicCall &call) {
  if (!isFloat(call.element)) {
    return foldKind(kind, call.element);
  }
  context_.isRounded |= kind == "sum" || kind == "prod";
  return context_.reading == Reading::Bits ? foldInOrder(kind, call)
                                           : foldKind(kind, call.element);
}

/// In which order it folds, the operator says by its name; a reduction also by
/// the shape that it reduces.
SymbolicEvaluator::FoldKind
SymbolicEvaluator::foldInOrder(const std::string &kind,
                               const SymbolicCall &call) {
  Factor fold;
  fold.kind = Factor::Kind::Fold;
  fold.name = bitsName(call.op + " " + kind, typeOf(call.operands[0])) +
              " to " + call.element;
  if (call.op == "reduce" && context_.within.empty()) {
    for (size_t axis : dimList(call, "axes")) {
      fold.name += "," + std::to_string(axis);
    }
    fold.integers = shape(call.operands[0]);
  }
  if (call.op == "cumulate") {
    fold.name += std::get<bool>(attribute(call, "reverse")) ? " down" : "";
  }
  FoldKind result;
  result.isInOrder = true;
  result.isChoice = kind == "max" || kind == "min";
  result.close = [fold](const Binder &binder, const Sum &body) {
    Factor made = fold;
    made.binders = {binder};
    made.operands = {body};
    return Sum(makeFactor(std::move(made)));
  };
  return result;
}

SymbolicEvaluator::FoldKind
SymbolicEvaluator::foldKind(const std::string &kind, const std::string &type) {
  auto foldBy = [this](const std::string &name, const Binder &binder,
                       const Sum &body) {
    return foldOver(name, binder, body,
                    facts_.isAtLeastZero(binder.extent - Polynomial(1)));
  };
  if (kind == "sum") {
    return {sumOver,
            [](const Sum &one, const Sum &other) { return one + other; },
            /*isSum=*/true};
  }
  if (isFloat(type) && (kind == "max" || kind == "min")) {
    Sum sign(Fraction{kind == "max" ? 1 : -1, 1});
    return {[=](const Binder &binder, const Sum &body) {
              return sign * foldBy("max", binder, sign * body);
            },
            [sign](const Sum &one, const Sum &other) {
              return sign * largest({sign * one, sign * other});
            }};
  }
  if (kind == "prod") {
    return {[=](const Binder &binder, const Sum &body) {
              return foldBy("prod", binder, body);
            },
            [](const Sum &one, const Sum &other) { return one * other; }};
  }
  if (type == "bool") {
    auto all = [=](const Binder &binder, const Sum &body) {
      return foldBy("and", binder, body);
    };
    Sum one(Fraction{1, 1});
    if (kind == "and") {
      return {all,
              [](const Sum &left, const Sum &right) { return left * right; }};
    }
    return {[all, one](const Binder &binder, const Sum &body) {
              return one - all(binder, one - body);
            },
            [](const Sum &left, const Sum &right) {
              return left + right - left * right;
            }};
  }
  std::string name = kind + " of " + type;
  return {[=](const Binder &binder, const Sum &body) {
            return foldBy(name, binder, body);
          },
          [name](const Sum &one, const Sum &other) {
            return commutative(name, {one, other}, true);
          }};
}
