//===- ElementAttention.cpp - What attention makes, by elements -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Prove/ElementOf.h"

#include <array>

using namespace divisi::rewrite;

/// The dims of queries, keys, values and the result, a letter each.
static std::array<std::string, 4> lettersOf(const std::string &labels) {
  std::array<std::string, 4> letters;
  size_t at = 0;
  for (std::string &each : letters) {
    size_t end = labels.find_first_of(",-", at);
    each = labels.substr(at, end - at);
    at = end == std::string::npos ? labels.size() : end + 1;
    at += at < labels.size() && labels[at] == '>';
  }
  return letters;
}

/// What belongs to each letter of a tensor.
static std::map<char, Polynomial> byLetters(const std::string &letters,
                                            const Index &dims) {
  std::map<char, Polynomial> result;
  for (size_t i = 0; i != letters.size(); ++i) {
    result.emplace(letters[i], dims[i]);
  }
  return result;
}

static Index inOrder(const std::string &letters,
                     const std::map<char, Polynomial> &dims) {
  Index result;
  for (char letter : letters) {
    result.push_back(dims.at(letter));
  }
  return result;
}

/// As many features as values have, of as many rows as queries have.
Index ElementOf::attentionShape(const SymbolicCall &call) {
  auto letters = lettersOf(std::get<std::string>(attribute(call, "labels")));
  auto dims = byLetters(letters[0], shape(call.operands[0]));
  dims.merge(byLetters(letters[2], shape(call.operands[2])));
  return inOrder(letters[3], dims);
}

/// A row of values, weighed by the softmax of products, to which numbers may be
/// added: what leaves keys out is not defined here.
std::optional<Sum> ElementOf::attention(const SymbolicCall &call,
                                        const Index &index) {
  bool hasMask = call.operands.size() == 4;
  if ((hasMask && typeOf(call.operands[3]) == "bool") ||
      number(call, "left") != -1 || number(call, "right") != -1 ||
      !std::get<bool>(attribute(call, "nan")) ||
      !real(std::get<Expr>(attribute(call, "softcap"))).terms.empty()) {
    return std::nullopt;
  }
  auto letters = lettersOf(std::get<std::string>(attribute(call, "labels")));
  auto q = byLetters(letters[0], shape(call.operands[0]));
  auto k = byLetters(letters[1], shape(call.operands[1]));
  auto at = byLetters(letters[3], index), keys = at;
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
      score = score +
              this->at(call.operands[3],
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
