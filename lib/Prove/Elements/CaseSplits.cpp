//===- CaseSplits.cpp - Equality by case distinction ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/CaseSplits.h"

#include "z3++.h"

#include <algorithm>

using namespace divisi::rewrite;

Sum divisi::rewrite::byCases(
    const std::vector<Sum> &operands,
    const std::function<Sum(const std::vector<Sum> &)> &function) {
  FactorRef boolean;
  for (const Sum &operand : operands) {
    boolean = boolean ? boolean : booleanIn(operand);
  }
  if (!boolean) {
    return function(operands);
  }
  Sum is(boolean), result;
  for (bool holds : {true, false}) {
    std::vector<Sum> there;
    for (const Sum &operand : operands) {
      there.push_back(where(operand, *boolean, holds));
    }
    Sum weight = holds ? is : Sum(Fraction{1, 1}) - is;
    result = result + weight * byCases(there, function);
  }
  return result;
}

Sum divisi::rewrite::isAbove(const Sum &sum) {
  return byCases({sum}, [](const std::vector<Sum> &operands) {
    const Sum &of = operands[0];
    if (isPositive(of)) {
      return Sum(Fraction{1, 1});
    }
    if (of.terms.empty() || isPositive(Sum() - of)) {
      return Sum();
    }
    Factor factor;
    factor.name = "above 0";
    factor.operands = {withoutPositive(of)};
    factor.isBoolean = true;
    return Sum(makeFactor(std::move(factor)));
  });
}

/// With what is above 0 in place of what is the largest.
static Sum withOrders(const Sum &sum) {
  Sum result;
  for (const auto &[key, term] : sum.terms) {
    Monomial rest = term.first;
    std::vector<Sum> largest;
    for (size_t i = 0; i != rest.factors.size();) {
      const FactorRef factor = rest.factors[i];
      bool isLargest = factor->isFunction("max") && rest.binders.empty();
      if (!isLargest) {
        ++i;
        continue;
      }
      Sum most = withOrders(factor->operands[0]);
      for (size_t j = 1; j != factor->operands.size(); ++j) {
        Sum more = withOrders(factor->operands[j]) - most;
        most = most + isAbove(more) * more;
      }
      largest.push_back(std::move(most));
      rest.factors.erase(rest.factors.begin() + ptrdiff_t(i));
    }
    Sum product(std::move(rest), term.second);
    for (const Sum &most : largest) {
      product = product * most;
    }
    result = result + product;
  }
  return result;
}

namespace {

/// Real numbers in the words of Z3: a factor is any, products are products.
class Reals {
public:
  /// Whether no numbers meet the facts; or none at which the sum is not 0.
  bool isNowhere(const std::vector<OrderFact> &facts, const Sum *unequal);

private:
  z3::expr encode(const Sum &sum);

  z3::context context_;
  std::map<std::string, FactorRef> seen_;
};

} // namespace

z3::expr Reals::encode(const Sum &sum) {
  z3::expr result = context_.real_val(0);
  for (const auto &[key, term] : sum.terms) {
    const auto &[monomial, coefficient] = term;
    z3::expr product = context_.real_val(coefficient.above, coefficient.below);
    if (!monomial.binders.empty()) {
      product = product * context_.real_const(key.c_str());
    } else {
      for (const FactorRef &factor : monomial.factors) {
        product = product * context_.real_const(factor->key.c_str());
        seen_.emplace(factor->key, factor);
      }
    }
    result = result + product;
  }
  return result;
}

bool Reals::isNowhere(const std::vector<OrderFact> &facts, const Sum *unequal) {
  constexpr unsigned work = 100000;
  z3::solver solver(context_);
  z3::params params(context_);
  params.set("rlimit", work);
  solver.set(params);
  for (const OrderFact &fact : facts) {
    z3::expr value = encode(fact.sum);
    solver.add(fact.isStrict ? value > 0 : value >= 0);
  }
  if (unequal) {
    solver.add(encode(*unequal) != 0);
  }
  for (const auto &[key, factor] : seen_) {
    if (isPositive(Sum(factor))) {
      solver.add(context_.real_const(key.c_str()) > 0);
    }
  }
  return solver.check() == z3::unsat;
}

static bool isZeroByCases(const Sum &sum, std::vector<OrderFact> &facts,
                          Reals &reals, int depth) {
  constexpr int mostDepth = 10;
  FactorRef boolean = booleanIn(sum);
  if (!boolean || depth == mostDepth) {
    return areEqual(sum, Sum()) || reals.isNowhere(facts, &sum);
  }
  bool isOrder = boolean->isFunction("above 0");
  for (bool holds : {true, false}) {
    if (isOrder) {
      const Sum &of = boolean->operands[0];
      facts.push_back({holds ? of : Sum() - of, holds});
    }
    bool isZero =
        (isOrder && reals.isNowhere(facts, nullptr)) ||
        isZeroByCases(where(sum, *boolean, holds), facts, reals, depth + 1);
    if (isOrder) {
      facts.pop_back();
    }
    if (!isZero) {
      return false;
    }
  }
  return true;
}

bool divisi::rewrite::areEqualByCases(const Sum &left, const Sum &right,
                                      std::vector<OrderFact> facts) {
  Sum difference = withOrders(left - right);
  if (difference.terms.empty()) {
    return true;
  }
  if (!booleanIn(difference)) {
    return false;
  }
  Reals reals;
  return isZeroByCases(difference, facts, reals, 0);
}
