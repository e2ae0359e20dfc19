//===- ElementAttention.cpp - What attention makes, by elements -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Prove/ElementOf.h"

using namespace divisi::rewrite;

namespace {

/// The dims of queries, keys, values and the result, a letter each: letters of
/// a rule tell which are the same, and not what they are.
struct AttentionLetters {
  explicit AttentionLetters(const std::string &labels);

  std::string of[4];
  char key = 0;       ///< Of keys and values.
  char depth = 0;     ///< Of queries and keys.
  std::string shared; ///< Of all: batches and heads.
};

} // namespace

AttentionLetters::AttentionLetters(const std::string &labels) {
  size_t at = 0;
  for (std::string &each : of) {
    size_t end = labels.find_first_of(",-", at);
    each = labels.substr(at, end - at);
    at = end == std::string::npos ? labels.size() : end + 1;
    at += at < labels.size() && labels[at] == '>';
  }
  for (char letter : of[1]) {
    bool isOfQueries = of[0].find(letter) != std::string::npos;
    bool isOfValues = of[2].find(letter) != std::string::npos;
    if (isOfQueries && isOfValues) {
      shared += letter;
    } else {
      (isOfQueries ? depth : key) = letter;
    }
  }
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
  AttentionLetters letters(std::get<std::string>(attribute(call, "labels")));
  auto dims = byLetters(letters.of[0], shape(call.operands[0]));
  dims.merge(byLetters(letters.of[2], shape(call.operands[2])));
  return inOrder(letters.of[3], dims);
}

/// A row of values, weighed by the softmax of products: masks, and what else
/// leaves keys out, are not defined here.
std::optional<Sum> ElementOf::attention(const SymbolicCall &call,
                                        const Index &index) {
  if (call.operands.size() != 3 || number(call, "left") != -1 ||
      number(call, "right") != -1 || !std::get<bool>(attribute(call, "nan")) ||
      !real(std::get<Expr>(attribute(call, "softcap"))).terms.empty()) {
    return std::nullopt;
  }
  AttentionLetters letters(std::get<std::string>(attribute(call, "labels")));
  auto q = byLetters(letters.of[0], shape(call.operands[0]));
  auto k = byLetters(letters.of[1], shape(call.operands[1]));
  auto at = byLetters(letters.of[3], index), keys = at;
  for (char letter : letters.shared) {
    if (q.at(letter) == k.at(letter)) {
      continue;
    }
    std::optional<Polynomial> times = divideExactly(q.at(letter), k.at(letter));
    if (!times) {
      if (AtomRef heads = q.at(letter).atom()) {
        throw SplitMultiple{heads, k.at(letter)};
      }
      throw GivenUp();
    }
    keys[letter] = divideIndex(at.at(letter), *times).quotient;
  }
  Sum scale = real(std::get<Expr>(attribute(call, "scale")));
  FoldKind sum = foldKind("sum", call.element);
  auto weight = [&](const Polynomial &key) {
    keys[letters.key] = key;
    Sum product =
        fold(q.at(letters.depth), sum, [&](const Polynomial &each) {
          at[letters.depth] = keys[letters.depth] = each;
          return this->at(call.operands[0], inOrder(letters.of[0], at)) *
                 this->at(call.operands[1], inOrder(letters.of[1], keys));
        });
    return exponential(product * scale);
  };
  Sum all = inverse(fold(k.at(letters.key), sum, weight));
  return fold(k.at(letters.key), sum, [&](const Polynomial &key) {
    Sum share = weight(key) * all;
    keys[letters.key] = key;
    for (char letter : letters.of[2]) {
      if (!keys.count(letter)) {
        keys[letter] = at.at(letter);
      }
    }
    return share * this->at(call.operands[2], inOrder(letters.of[2], keys));
  });
}
