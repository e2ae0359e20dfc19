//===- Labels.cpp - Dims by label -----------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/Labels.h"

#include "divisi/Support/Labels.h"

using namespace divisi::rewrite;

std::vector<std::string> divisi::rewrite::lettersOf(const std::string &labels) {
  std::vector<std::string_view> letters = splitLabels(labels);
  return {letters.begin(), letters.end()};
}

ByLetter divisi::rewrite::byLetters(const std::string &letters,
                                    const Index &dims) {
  ByLetter result;
  for (size_t i = 0; i != letters.size(); ++i) {
    result.emplace(letters[i], dims[i]);
  }
  return result;
}

Index divisi::rewrite::inOrder(const std::string &letters,
                               const ByLetter &dims) {
  Index result;
  for (char letter : letters) {
    result.push_back(dims.at(letter));
  }
  return result;
}

Index SymbolicEvaluator::labelledShape(const SymbolicCall &call) {
  std::vector<std::string> letters =
      lettersOf(std::get<std::string>(attribute(call, "labels")));
  ByLetter extents;
  // What several operands have is as the first one has it: keys may have fewer
  // heads than queries.
  for (size_t i = 0; i + 1 != letters.size(); ++i) {
    extents.merge(byLetters(letters[i], shape(call.operands[i])));
  }
  return inOrder(letters.back(), extents);
}
