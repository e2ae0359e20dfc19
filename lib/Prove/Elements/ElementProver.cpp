//===- ElementProver.cpp - Proofs by elements -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/ElementProof.h"

#include <algorithm>

using namespace divisi::rewrite;

/// Another polynomial for an atom, everywhere.
static void replace(ElementCase &at, const std::string &key,
                    const Polynomial &value) {
  Values values{{key, value}};
  for (auto &[name, symbol] : at.symbols) {
    symbol = symbol.with(values);
  }
  for (auto &[fact, relation] : at.facts) {
    fact = fact.with(values);
  }
  for (Binder &index : at.indices) {
    index.extent = index.extent.with(values);
  }
  for (Polynomial &place : at.place) {
    place = place.with(values);
  }
}

Polynomial ElementProof::integer(const Expr &expr, const ElementCase &at) {
  return SymbolicEvaluator(rule_, rule_.source, at.symbols, reals_, context_)
      .integer(expr);
}

static bool isZero(const Expr &expr) {
  return (expr.kind == Expr::Kind::Real && expr.real == 0) ||
         (expr.kind == Expr::Kind::Number && expr.value == 0);
}

/// Where it says which value a symbol has, the symbol is that from now on, in
/// what was added before, too. Of reals it says here which are above 0.
void ElementProof::addCondition(const Condition &condition, ElementCase &at) {
  if (isReal(condition.left, rule_.reals) ||
      isReal(condition.right, rule_.reals)) {
    bool isUp = condition.relation == Relation::Lt && isZero(condition.left);
    bool isDown = condition.relation == Relation::Gt && isZero(condition.right);
    const Expr &name = isUp ? condition.right : condition.left;
    if ((isUp || isDown) && name.kind == Expr::Kind::Name) {
      reals_[name.name] = realOf(name.name, true);
    }
    return;
  }
  Polynomial left = integer(condition.left, at);
  Polynomial right = integer(condition.right, at);
  using Is = Facts::Relation;
  switch (condition.relation) {
  case Relation::Eq:
    for (auto [one, other] : {std::pair(&left, &right), {&right, &left}}) {
      AtomRef atom = one->atom();
      if (atom && !other->mentions(*atom)) {
        if (atom->isPositive) {
          at.facts.emplace_back(*other - Polynomial(1), Is::AtLeast);
        }
        replace(at, atom->key, *other);
        return;
      }
    }
    at.facts.emplace_back(left - right, Is::Equal);
    break;
  case Relation::Ne:
    at.facts.emplace_back(left - right, Is::Unequal);
    break;
  case Relation::Lt:
    at.facts.emplace_back(right - left - Polynomial(1), Is::AtLeast);
    break;
  case Relation::Le:
    at.facts.emplace_back(right - left, Is::AtLeast);
    break;
  case Relation::Gt:
    at.facts.emplace_back(left - right - Polynomial(1), Is::AtLeast);
    break;
  case Relation::Ge:
    at.facts.emplace_back(left - right, Is::AtLeast);
    break;
  case Relation::Divides: {
    at.facts.emplace_back(left - Polynomial(1), Is::AtLeast);
    AtomRef atom = right.atom();
    if (atom && !left.mentions(*atom)) {
      AtomRef quotient =
          sizeAtom("(" + atom->key + ":" + left.key() + ")", atom->isPositive);
      replace(at, atom->key, left * Polynomial(quotient));
      return;
    }
    at.facts.emplace_back(remainderOf(right, left), Is::Equal);
    break;
  }
  case Relation::Broadcasts:
    break; // Asked where extents are compared.
  }
}

void ElementProof::addConditions(ElementCase &at) {
  for (const std::string &name : rule_.sizes) {
    at.symbols.emplace(name, Polynomial(sizeAtom(name, true)));
  }
  for (const std::string &name : rule_.ints) {
    at.symbols.emplace(name, Polynomial(sizeAtom(name, false)));
  }
  for (const std::string &name : rule_.reals) {
    reals_.emplace(name, realOf(name, false));
  }
  for (const Condition &condition : rule_.conditions) {
    addCondition(condition, at);
  }
  SymbolicEvaluator reals(rule_, rule_.source, at.symbols, reals_, context_);
  for (const Condition &condition : rule_.conditions) {
    if (!isReal(condition.left, rule_.reals) &&
        !isReal(condition.right, rule_.reals)) {
      continue;
    }
    Sum up = reals.real(condition.right) - reals.real(condition.left);
    bool isLess = condition.relation == Relation::Lt ||
                  condition.relation == Relation::Le;
    bool isMore = condition.relation == Relation::Gt ||
                  condition.relation == Relation::Ge;
    if (isLess || isMore) {
      orders_.push_back(
          {isLess ? up : Sum() - up, condition.relation == Relation::Lt ||
                                         condition.relation == Relation::Gt});
    }
  }
}

void ElementProof::believe(const ElementCase &at) {
  facts_.popTo(0);
  for (const auto &[fact, relation] : at.facts) {
    facts_.push(fact, relation);
  }
  for (const Binder &index : at.indices) {
    facts_.pushIndex(index.index, index.extent);
  }
}

bool ElementProof::splitAt(const Check &check, const ElementCase &at,
                           const Polynomial &condition, int depth) {
  for (const auto &[product, coefficient] : condition.terms()) {
    for (const AtomRef &atom : product) {
      bool isBound = atom->kind == Atom::Kind::Index &&
                     std::none_of(at.indices.begin(), at.indices.end(),
                                  [&](const Binder &each) {
                                    return each.index->key == atom->key;
                                  });
      if (isBound) {
        throw GivenUp();
      }
    }
  }
  for (const Polynomial &holds : {condition, Polynomial(-1) - condition}) {
    ElementCase one = at;
    one.facts.emplace_back(holds, Facts::Relation::AtLeast);
    one.isCompared = true;
    if (!holdsAt(check, std::move(one), depth + 1)) {
      return false;
    }
  }
  return true;
}

bool ElementProof::splitIndex(const Check &check, const ElementCase &at,
                              const SplitIndex &split, int depth) {
  ElementCase one = at;
  for (size_t i = 0; i != one.indices.size(); ++i) {
    if (one.indices[i].index->key != split.index->key) {
      continue;
    }
    std::optional<Polynomial> major =
        divideExactly(one.indices[i].extent, split.by);
    if (!major) {
      throw GivenUp();
    }
    AtomRef first = indexAtom(split.index->key.substr(1) + "a");
    AtomRef second = indexAtom(split.index->key.substr(1) + "b");
    // Of a few parts, or places in a part, each is a case.
    auto isFew = [](const Polynomial &count) {
      return count.number() && *count.number() <= 4;
    };
    if (isFew(*major) || isFew(split.by)) {
      bool areParts = isFew(*major);
      one.indices[i] =
          areParts ? Binder{second, split.by} : Binder{first, *major};
      auto isEqual = [&](int64_t number) {
        ElementCase each = one;
        Polynomial part(number), place(second);
        if (!areParts) {
          part = Polynomial(first);
          place = Polynomial(number);
        }
        replace(each, split.index->key, part * split.by + place);
        return holdsAt(check, std::move(each), depth + 1);
      };
      int64_t count = *(areParts ? *major : split.by).number();
      int64_t number = 0;
      while (number != count && isEqual(number)) {
        ++number;
      }
      return number == count;
    }
    one.indices[i] = {first, *major};
    one.indices.push_back({second, split.by});
    replace(one, split.index->key,
            Polynomial(first) * split.by + Polynomial(second));
    return holdsAt(check, std::move(one), depth + 1);
  }
  throw GivenUp();
}

/// Where it is 1; and where it is more, and then what it broadcasts to.
bool ElementProof::splitExtent(const Check &check, const ElementCase &at,
                               const Polynomial &extent, int depth) {
  AtomRef atom = extent.atom();
  ElementCase one = at, more = at;
  if (atom) {
    replace(one, atom->key, Polynomial(1));
  } else {
    one.facts.emplace_back(extent - Polynomial(1), Facts::Relation::Equal);
  }
  for (const Condition &condition : rule_.conditions) {
    if (condition.relation == Relation::Broadcasts &&
        integer(condition.right, one).number() == 1) {
      AtomRef repeated = integer(condition.left, one).atom();
      if (repeated) {
        replace(one, repeated->key, Polynomial(1));
      }
    }
  }
  for (size_t i = 0; i != at.indices.size(); ++i) {
    if (at.indices[i].extent == extent || one.indices[i].extent.number() == 1) {
      replace(one, at.indices[i].index->key, Polynomial(0));
    }
  }
  more.facts.emplace_back(extent - Polynomial(2), Facts::Relation::AtLeast);
  for (const Condition &condition : rule_.conditions) {
    if (atom && condition.relation == Relation::Broadcasts &&
        integer(condition.left, at) == extent) {
      replace(more, atom->key, integer(condition.right, at));
    }
  }
  return holdsAt(check, std::move(one), depth + 1) &&
         holdsAt(check, std::move(more), depth + 1);
}

/// Whether the results are known to have the same extents.
bool ElementProof::haveOneShape(const Index &source, const Index &target) {
  for (size_t dim = 0; dim != source.size(); ++dim) {
    Polynomial more = target[dim] - source[dim];
    if (facts_.isZero(more)) {
      continue;
    }
    for (const Polynomial &each : {source[dim], target[dim]}) {
      if (each.atom() && !facts_.isAtLeastZero(each - Polynomial(2)) &&
          !facts_.isZero(each - Polynomial(1))) {
        throw SplitExtent{each};
      }
    }
    open_ = "that extent " + std::to_string(dim) + " of the result, " +
            describe(source[dim]) + " by the source, is " +
            describe(target[dim]);
    return false;
  }
  return true;
}

bool ElementProof::holdsAt(const Check &check, ElementCase at, int depth) {
  constexpr int mostDepth = 24;
  constexpr size_t mostCases = 400;
  if (depth > mostDepth || ++cases_ > mostCases) {
    open_ = "more than " + std::to_string(mostCases) + " cases";
    throw GivenUp();
  }
  believe(at);
  if (at.isCompared && facts_.areContradictory()) {
    return true; // There is no such case.
  }
  at.isCompared = false;
  context_.steps = 0;
  context_.isRounded = false;
  SymbolicEvaluator source(rule_, rule_.source, at.symbols, reals_, context_);
  SymbolicEvaluator target(rule_, rule_.target, at.symbols, reals_, context_);
  try {
    return check(source, target, at);
  } catch (const SplitAt &split) {
    return splitAt(check, at, split.condition, depth);
  } catch (const SplitIndex &split) {
    return splitIndex(check, at, split, depth);
  } catch (const SplitExtent &split) {
    return splitExtent(check, at, split.extent, depth);
  } catch (const SplitMultiple &split) {
    AtomRef count =
        sizeAtom("(" + split.extent->key + ":" + split.of.key() + ")",
                 split.extent->isPositive);
    replace(at, split.extent->key, split.of * Polynomial(count));
    return holdsAt(check, std::move(at), depth + 1);
  }
}

bool ElementProof::areEqualAt(size_t result, SymbolicEvaluator &source,
                              SymbolicEvaluator &target, ElementCase &at) {
  size_t number = rule_.source.results[result];
  if (!at.isPlaced) {
    for (const Polynomial &extent : source.shape(number)) {
      AtomRef index = indexAtom("r" + std::to_string(at.indices.size()));
      at.indices.push_back({index, extent});
      at.place.emplace_back(extent.number() == 1 ? Polynomial(0)
                                                 : Polynomial(index));
    }
    at.isPlaced = true;
    believe(at);
  }
  Sum left = source.at(number, at.place);
  Sum right = target.at(rule_.target.results[result], at.place);
  if (!haveOneShape(source.shape(number),
                    target.shape(rule_.target.results[result]))) {
    return false;
  }
  bool areSame = areEqual(left, right);
  if (!areSame && context_.reading != Reading::Bits) {
    areSame = areEqualByCases(left, right, orders_);
  }
  if (!areSame) {
    std::string place;
    for (const Polynomial &each : at.place) {
      place += (place.empty() ? "" : ", ") + describe(each);
    }
    open_ = "that result " + std::to_string(result) + " at [" + place + "], " +
            describe(left) + " by the source, is " + describe(right);
  }
  return areSame;
}

Proof ElementProof::run() {
  Proof proof;
  beginFactors();
  context_.reading =
      !rule_.numericClass                                  ? Reading::Rounding
      : *rule_.numericClass == NumericClass::BitExact      ? Reading::Bits
      : *rule_.numericClass == NumericClass::Discontinuous ? Reading::Reals
                                                           : Reading::Rounding;
  try {
    ElementCase at;
    addConditions(at);
    proof.isProved = true;
    for (size_t i = 0; i != rule_.source.results.size() && proof.isProved;
         ++i) {
      proof.isProved = holdsAt(
          [&](SymbolicEvaluator &source, SymbolicEvaluator &target,
              ElementCase &in) { return areEqualAt(i, source, target, in); },
          at, 0);
    }
    proof.axioms = {"elements"};
    proof.axioms.insert(proof.axioms.end(), context_.used.begin(),
                        context_.used.end());
  } catch (const GivenUp &) {
    proof.isProved = false;
  }
  proof.why = proof.isProved  ? ""
              : open_.empty() ? "an operator or its numbers cannot be followed"
                              : "it is not shown " + open_;
  return proof;
}

Proof divisi::rewrite::proveByElements(
    const SymbolicRule &rule, const std::vector<SymbolicRule> &axioms) {
  return ElementProof(rule, axioms).run();
}
