//===- Attention.cpp - Elements of attention ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/Labels.h"

using namespace divisi::rewrite;

/// A row of values, weighed by the softmax of products, to which numbers may be
/// added: what leaves keys out is not defined here.
std::optional<Sum> SymbolicEvaluator::attention(const SymbolicCall &call,
                                                const Index &index) {
  bool hasMask = call.operands.size() == 4;
  if ((hasMask && typeOf(call.operands[3]) == "bool") ||
      number(call, "left") != -1 || number(call, "right") != -1 ||
      !std::get<bool>(attribute(call, "nan")) ||
      !real(std::get<Expr>(attribute(call, "softcap"))).terms.empty()) {
    return std::nullopt;
  }
  std::vector<std::string> letters =
      lettersOf(std::get<std::string>(attribute(call, "labels")));
  ByLetter q = byLetters(letters[0], shape(call.operands[0]));
  ByLetter k = byLetters(letters[1], shape(call.operands[1]));
  ByLetter at = byLetters(letters[3], index), keys = at;
  std::optional<Polynomial> sharing = divideExactly(q.at('h'), k.at('h'));
  if (!sharing) {
    if (AtomRef heads = q.at('h').atom()) {
      throw SplitMultiple{heads, k.at('h')};
    }
    throw GivenUp();
  }
  if (sharing->number() != 1) {
    keys['h'] = divideIndex(at.at('h'), *sharing).quotient;
  }
  Sum scale = real(std::get<Expr>(attribute(call, "scale")));
  FoldKind sum = foldKind("sum", call.element);
  auto weight = [&](const Polynomial &key) {
    keys['t'] = key;
    Sum product = fold(q.at('d'), sum, [&](const Polynomial &each) {
      at['d'] = keys['d'] = each;
      return this->at(call.operands[0], inOrder(letters[0], at)) *
             this->at(call.operands[1], inOrder(letters[1], keys));
    });
    Sum score = product * scale;
    if (hasMask) {
      at['t'] = key;
      q['t'] = k.at('t');
      score =
          score + this->at(call.operands[3],
                           operandIndex(call.operands[3], inOrder("bhst", at),
                                        inOrder("bhst", q)));
    }
    return exponential(score);
  };
  Sum all = inverse(fold(k.at('t'), sum, weight));
  return fold(k.at('t'), sum, [&](const Polynomial &key) {
    Sum share = weight(key) * all;
    keys['t'] = key;
    return share * this->at(call.operands[2], inOrder(letters[2], keys));
  });
}
