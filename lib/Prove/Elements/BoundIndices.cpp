//===- BoundIndices.cpp - Names of bound indices --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/BoundIndices.h"

#include <algorithm>
#include <set>

using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Binders
//===----------------------------------------------------------------------===//

int divisi::rewrite::heightOf(const Sum &sum) {
  int height = 0;
  for (const auto &[key, term] : sum.terms) {
    int inside = 0;
    for (const FactorRef &factor : term.first.factors) {
      inside = std::max(inside, factor->height);
    }
    height = std::max(height, inside + int(term.first.binders.size()));
  }
  return height;
}

int divisi::rewrite::heightOf(const Polynomial &integer) {
  int height = 0;
  for (const auto &[product, coefficient] : integer.terms()) {
    for (const AtomRef &atom : product) {
      for (const Polynomial &operand : atom->operands) {
        height = std::max(height, heightOf(operand));
      }
      height = std::max(height, atom->element ? heightOf(*atom->element) : 0);
    }
  }
  return height;
}

AtomRef divisi::rewrite::freshIndex() {
  static thread_local size_t next = 0;
  return indexAtom("?" + std::to_string(next++));
}

AtomRef divisi::rewrite::boundIndex(size_t height) {
  return indexAtom("b" + std::to_string(height));
}

std::string divisi::rewrite::keyOf(const std::vector<Binder> &binders) {
  std::string text;
  for (const Binder &binder : binders) {
    text += binder.index->key + "<" + binder.extent.key() + " ";
  }
  return text;
}

FactorRef divisi::rewrite::factorWith(const Factor &factor,
                                      const Values &values) {
  Factor result = factor;
  for (Polynomial &integer : result.integers) {
    integer = integer.with(values);
  }
  for (Sum &operand : result.operands) {
    operand = operand.with(values);
  }
  for (Binder &binder : result.binders) {
    binder.extent = binder.extent.with(values);
  }
  return makeFactor(std::move(result));
}

Values divisi::rewrite::namesOf(const std::vector<Binder> &binders,
                                const std::vector<AtomRef> &names) {
  Values values;
  for (size_t i = 0; i != binders.size(); ++i) {
    values.emplace(binders[i].index->key, Polynomial(names[i]));
  }
  return values;
}

std::vector<Binder>
divisi::rewrite::withNames(const std::vector<Binder> &binders,
                           const std::vector<AtomRef> &names,
                           const std::vector<size_t> &order) {
  std::vector<Binder> result;
  for (size_t i : order) {
    result.push_back({names[i], binders[i].extent});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

namespace {

/// Numbers by which terms are told apart that differ in more than the names of
/// indices. What may stand in any order is added up.
class Uses {
public:
  /// Of `index`, the others being alike.
  Uses(const std::vector<Binder> &binders, const Atom &index)
      : index_(index.key) {
    bind(binders);
  }

  uint64_t of(const Factor &factor);
  uint64_t of(const Sum &sum);
  /// Of a binder that is used so.
  uint64_t of(const Binder &binder, uint64_t used) {
    return both(of(binder.extent), used);
  }

private:
  void bind(const std::vector<Binder> &binders) {
    for (const Binder &binder : binders) {
      alike_.insert(binder.index->key);
    }
  }
  /// Of two things in this order.
  static uint64_t both(uint64_t first, uint64_t second) {
    constexpr uint64_t odd = 0x9E3779B97F4A7C15; // 2^64 by the golden ratio
    uint64_t mixed =
        (first ^ (second + odd + (first << 6) + (first >> 2))) * odd;
    return mixed ^ (mixed >> 29);
  }
  static uint64_t of(const std::string &text) {
    return std::hash<std::string>()(text);
  }
  uint64_t of(const Atom &atom);
  uint64_t of(const Polynomial &integer);
  uint64_t of(const std::vector<Binder> &binders);

  const std::string &index_;
  std::set<std::string> alike_; ///< Indices, of which names say nothing.
};

} // namespace

uint64_t Uses::of(const Atom &atom) {
  if (atom.key == index_) {
    return 1;
  }
  if (alike_.count(atom.key)) {
    return 2;
  }
  uint64_t used = 3 + uint64_t(atom.kind);
  if (atom.operands.empty() && !atom.element) {
    return both(used, of(atom.key));
  }
  for (const Polynomial &operand : atom.operands) {
    used = both(used, of(operand));
  }
  return atom.element ? both(used, of(*atom.element)) : used;
}

uint64_t Uses::of(const Polynomial &integer) {
  uint64_t used = 0;
  for (const auto &[product, coefficient] : integer.terms()) {
    uint64_t atoms = 0;
    for (const AtomRef &atom : product) {
      atoms += both(1, of(*atom));
    }
    used += both(atoms, uint64_t(coefficient));
  }
  return used;
}

uint64_t Uses::of(const std::vector<Binder> &binders) {
  uint64_t used = 0;
  for (const Binder &binder : binders) {
    used += both(2, of(binder.extent));
  }
  return used;
}

uint64_t Uses::of(const Factor &factor) {
  bind(factor.binders);
  uint64_t used = both(of(factor.name), uint64_t(factor.kind));
  for (const Polynomial &integer : factor.integers) {
    used = both(used, of(integer));
  }
  uint64_t operands = 0;
  for (const Sum &operand : factor.operands) {
    operands = factor.isCommutative ? operands + both(3, of(operand))
                                    : both(operands, of(operand));
  }
  return both(both(used, of(factor.binders)), operands);
}

uint64_t Uses::of(const Sum &sum) {
  uint64_t used = 0;
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    bind(monomial.binders);
    uint64_t factors = of(monomial.binders);
    for (const FactorRef &factor : monomial.factors) {
      factors += both(4, of(*factor));
    }
    used += both(both(factors, uint64_t(coefficient.above)),
                 uint64_t(coefficient.below));
  }
  return used;
}

std::vector<uint64_t>
divisi::rewrite::usesOf(const std::vector<Binder> &binders,
                        const std::vector<FactorRef> &factors,
                        const std::vector<Sum> &operands) {
  std::vector<uint64_t> result;
  if (binders.size() < 2) {
    return result;
  }
  for (const Binder &binder : binders) {
    Uses uses(binders, *binder.index);
    uint64_t used = 0;
    for (const FactorRef &factor : factors) {
      used += uses.of(*factor);
    }
    for (const Sum &operand : operands) {
      used += uses.of(operand);
    }
    result.push_back(uses.of(binder, used));
  }
  return result;
}

bool divisi::rewrite::nextOrder(std::vector<size_t> &order,
                                const std::vector<uint64_t> &uses) {
  for (size_t end = order.size(); end != 0;) {
    size_t begin = end;
    while (begin != 0 && uses[order[begin - 1]] == uses[order[end - 1]]) {
      --begin;
    }
    if (std::next_permutation(order.begin() + ptrdiff_t(begin),
                              order.begin() + ptrdiff_t(end))) {
      return true; // Those of greater uses begin again.
    }
    end = begin;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

bool Factor::mentions(const Atom &atom) const {
  auto has = [&](const auto &each) { return each.mentions(atom); };
  return std::any_of(integers.begin(), integers.end(), has) ||
         std::any_of(operands.begin(), operands.end(), has) ||
         std::any_of(binders.begin(), binders.end(), [&](const Binder &binder) {
           return binder.extent.mentions(atom);
         });
}

static std::string spell(const Factor &factor) {
  std::string text = factor.name;
  text += factor.kind == Factor::Kind::Integer ? "#" : "";
  text += factor.kind == Factor::Kind::Holds ? "0<=" : "";
  text += "[";
  for (const Polynomial &integer : factor.integers) {
    text += integer.key() + ",";
  }
  text += "](" + keyOf(factor.binders);
  for (const Sum &operand : factor.operands) {
    text += operand.key() + ";";
  }
  return text + ")";
}

/// More than these are made for no proof that ends with one: a few seconds.
static constexpr size_t kMostFactors = 400'000;
static thread_local size_t factorsMade = 0;

void divisi::rewrite::beginFactors() { factorsMade = 0; }

FactorRef divisi::rewrite::makeFactor(Factor factor) {
  int height = 0;
  if (++factorsMade > kMostFactors) {
    throw GivenUp();
  }
  factor.isBoolean |= factor.kind == Factor::Kind::Holds;
  for (const Polynomial &integer : factor.integers) {
    height = std::max(height, heightOf(integer));
  }
  for (const Sum &operand : factor.operands) {
    height = std::max(height, heightOf(operand));
  }
  if (factor.binders.size() > kMostBinders) {
    throw GivenUp();
  }
  auto sortOperands = [](Factor &of) {
    std::sort(of.operands.begin(), of.operands.end(),
              [](const Sum &left, const Sum &right) {
                return left.key() < right.key();
              });
  };
  if (factor.isCommutative) {
    sortOperands(factor);
  }
  bool isOrdered = factor.name == "of";
  std::vector<uint64_t> uses;
  if (!isOrdered) {
    uses = usesOf(factor.binders, {}, factor.operands);
  }
  Factor made = leastNamed(
      factor.binders.size(), height, uses,
      [&](const std::vector<AtomRef> &names, const std::vector<size_t> &order) {
        Factor named = factor;
        named.binders = withNames(factor.binders, names, order);
        Values values = namesOf(factor.binders, names);
        for (Sum &operand : named.operands) {
          operand = values.empty() ? operand : operand.with(values);
        }
        named.key = spell(named);
        return std::pair(named, named.key);
      });
  made.height = height + int(made.binders.size());
  return std::make_shared<Factor>(std::move(made));
}
