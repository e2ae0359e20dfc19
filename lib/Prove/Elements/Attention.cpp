//===- Attention.cpp - Elements of attention ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/CaseSplits.h"
#include "lib/Prove/Elements/Labels.h"
#include "lib/Prove/Elements/ScalarFunctions.h"

using namespace divisi::rewrite;

/// Where a query at this position stops to attend keys: a bound of -1 is none,
/// and one that no key is beyond, either.
std::optional<Polynomial> SymbolicEvaluator::bound(const SymbolicCall &call,
                                                   const char *name) {
  Polynomial places = integer(std::get<Expr>(attribute(call, name)));
  return isKnown(places) ? std::optional(places) : std::nullopt;
}

/// The product of a query and a key, as it is weighed.
Sum SymbolicEvaluator::capped(const SymbolicCall &call, const Sum &product) {
  const Expr &cap = std::get<Expr>(attribute(call, "softcap"));
  Sum most = real(cap);
  if (most.terms.empty()) {
    return product;
  }
  bool isKnown = cap.kind == Expr::Kind::Real || isPositive(most);
  if (!isKnown) {
    throw GivenUp(); // It may be 0.
  }
  Sum small = *realFunction("tanh", call.element, product * inverse(most));
  return most * small;
}

namespace {

/// What a row of an attention is about, by the letters of its labels.
struct Attended {
  std::vector<std::string> letters;
  ByLetter queries, keys;     ///< Their shapes.
  ByLetter place, placeOfKey; ///< Of the row; its head is not yet that of keys.
};

} // namespace

static Attended attendedAt(const std::string &labels, const Index &index,
                           const Index &queries, const Index &keys) {
  std::vector<std::string> letters = lettersOf(labels);
  ByLetter place = byLetters(letters[3], index);
  return {letters, byLetters(letters[0], queries), byLetters(letters[1], keys),
          place, place};
}

/// A row of values, weighed by the softmax of products, to which numbers may be
/// added. What is not attended weighs 0.
Sum SymbolicEvaluator::attention(const SymbolicCall &call, const Index &index) {
  if (context_.reading == Reading::Bits) {
    return attentionBits(call, index);
  }
  context_.isRounded = true;
  bool hasMask = call.operands.size() == 4;
  bool isFlag = hasMask && typeOf(call.operands[3]) == "bool";
  auto [letters, q, k, at, keys] =
      attendedAt(std::get<std::string>(attribute(call, "labels")), index,
                 shape(call.operands[0]), shape(call.operands[1]));
  keys['h'] = headOf(at.at('h'), q.at('h'), k.at('h'));
  Sum scale = real(std::get<Expr>(attribute(call, "scale")));
  FoldKind sum = foldKind("sum", call.element);
  auto maskAt = [&](const Polynomial &key) {
    at['t'] = key;
    q['t'] = k.at('t');
    return this->at(call.operands[3],
                    operandIndex(call.operands[3], inOrder("bhst", at),
                                 inOrder("bhst", q)));
  };
  auto weightOf = [&](const Polynomial &key) {
    keys['t'] = key;
    Sum product = fold(q.at('d'), sum, [&](const Polynomial &each) {
      at['d'] = keys['d'] = each;
      return this->at(call.operands[0], inOrder(letters[0], at)) *
             this->at(call.operands[1], inOrder(letters[1], keys));
    });
    Sum score = capped(call, product * scale);
    if (!hasMask) {
      return exponential(score);
    }
    Sum mask = maskAt(key);
    if (isFlag) {
      return mask * exponential(score);
    }
    return byCases({score + mask},
                   [](const std::vector<Sum> &x) { return exponential(x[0]); });
  };
  Polynomial place =
      at.at('s') + integer(std::get<Expr>(attribute(call, "offset")));
  std::optional<Polynomial> left = bound(call, "left"),
                            right = bound(call, "right");
  auto weight = [&](const Polynomial &key) {
    std::vector<Polynomial> attended;
    if (left) {
      attended.push_back(key - place + *left);
    }
    if (right) {
      attended.push_back(place + *right - key);
    }
    return insideWindow(attended, [&] { return weightOf(key); }, Sum());
  };
  Sum all = fold(k.at('t'), sum, weight);
  // A query that attends nothing gets 0 or NaN.
  bool isThere = std::get<bool>(attribute(call, "nan")) || isPositive(all);
  Sum share = isThere ? inverse(all) : functionOf("inverse or 0", {all});
  return fold(k.at('t'), sum, [&](const Polynomial &key) {
    Sum part = weight(key) * share;
    keys['t'] = key;
    return part * this->at(call.operands[2], inOrder(letters[2], keys));
  });
}

/// The head of keys that a head of queries reads.
Polynomial SymbolicEvaluator::headOf(const Polynomial &head,
                                     const Polynomial &queries,
                                     const Polynomial &keys) {
  std::optional<Polynomial> sharing = divideExactly(queries, keys);
  if (!sharing) {
    if (AtomRef heads = queries.atom()) {
      throw SplitMultiple{heads, keys};
    }
    throw GivenUp();
  }
  return sharing->number() == 1 ? head : divideIndex(head, *sharing).quotient;
}

/// A function of the bits of a row of queries, and of the keys, values and
/// masks that it may attend, in their order; and of its position if that
/// counts.
Sum SymbolicEvaluator::attentionBits(const SymbolicCall &call,
                                     const Index &index) {
  auto [letters, q, k, at, keys] =
      attendedAt(std::get<std::string>(attribute(call, "labels")), index,
                 shape(call.operands[0]), shape(call.operands[1]));
  keys['h'] = headOf(at.at('h'), q.at('h'), k.at('h'));
  // All of `over` are read.
  auto lambda = [&](size_t operand, const std::string &order, ByLetter &places,
                    char over, const Polynomial &extent, auto &&inside) -> Sum {
    FactScope scope(facts_);
    BoundIndex bound(context_.depth);
    facts_.pushIndex(bound.atom(), extent);
    places[over] = Polynomial(bound.atom());
    Factor all;
    all.kind = Factor::Kind::Fold;
    all.name = "of";
    all.binders = {{bound.atom(), extent}};
    all.operands = {inside(operand, order, places)};
    return Sum(makeFactor(std::move(all)));
  };
  auto element = [&](size_t operand, const std::string &order,
                     ByLetter &places) {
    return this->at(call.operands[operand], inOrder(order, places));
  };
  std::vector<Sum> operands;
  operands.push_back(lambda(0, letters[0], at, 'd', q.at('d'), element));
  operands.push_back(
      lambda(1, letters[1], keys, 't', k.at('t'),
             [&](size_t operand, const std::string &order, ByLetter &places) {
               return lambda(operand, order, places, 'd', q.at('d'), element);
             }));
  operands.push_back(lambda(2, letters[2], keys, 't', k.at('t'), element));
  if (call.operands.size() == 4) {
    q['t'] = k.at('t');
    operands.push_back(
        lambda(3, "bhst", at, 't', k.at('t'),
               [&](size_t operand, const std::string &order, ByLetter &places) {
                 return this->at(call.operands[operand],
                                 operandIndex(call.operands[operand],
                                              inOrder(order, places),
                                              inOrder(order, q)));
               }));
  }
  SymbolicCall named = call;
  named.attributes.erase("labels");
  named.attributes.erase("offset");
  std::vector<Polynomial> integers;
  for (const char *side : {"left", "right"}) {
    named.attributes.erase(side);
    std::optional<Polynomial> places = bound(call, side);
    integers.push_back(places ? *places : Polynomial(-1));
  }
  if (integers[0].number() != -1 || integers[1].number() != -1) {
    integers.push_back(at.at('s') +
                       integer(std::get<Expr>(attribute(call, "offset"))));
  }
  return functionOf("=" + context_.within + nameOf(named), std::move(operands),
                    std::move(integers));
}
