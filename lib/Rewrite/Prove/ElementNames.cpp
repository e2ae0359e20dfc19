//===- ElementNames.cpp - Names of indices that are bound -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Prove/ElementNames.h"

#include <algorithm>

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

FactorRef divisi::rewrite::makeFactor(Factor factor) {
  int height = 0;
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
  Factor made = leastNamed(
      factor.binders.size(), height, isOrdered,
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
