//===- SeenEquations.cpp - Equations found so far -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/SeenEquations.h"

#include <algorithm>
#include <utility>

using namespace divisi::rewrite;

void divisi::rewrite::leaveOpen(const SeenEquation &seen, Deriver &deriver) {
  deriver.leaveOpen(seen.term);
  for (const Term &each : seen.renamed) {
    deriver.leaveOpen(each);
  }
}

void SeenEquations::add(const Term &term, const Term &first) {
  std::string text = canonicalText(universe_, term, first);
  auto [at, isNew] = numbers_.emplace(text, seen_.size());
  if (isNew) {
    size_t variables = countVariables(universe_, term, first);
    seen_.push_back({term, first, std::move(text), variables, {}});
  } else {
    seen_[at->second].renamed.push_back(term);
  }
}

std::vector<SeenEquation> SeenEquations::take() {
  numbers_.clear();
  std::stable_sort(seen_.begin(), seen_.end(),
                   [](const SeenEquation &a, const SeenEquation &b) {
                     return a.variables > b.variables;
                   });
  return std::exchange(seen_, {});
}
