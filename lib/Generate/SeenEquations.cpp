//===- SeenEquations.cpp - Equations as they are met ----------------------===//
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

void divisi::rewrite::leaveOpen(const Met &met, Deriver &deriver) {
  deriver.leaveOpen(met.term);
  for (const Term &each : met.renamed) {
    deriver.leaveOpen(each);
  }
}

void MetEquations::add(const Term &term, const Term &first) {
  std::string text = canonicalText(universe_, term, first);
  auto [at, isNew] = numbers_.emplace(text, met_.size());
  if (isNew) {
    size_t variables = countVariables(universe_, term, first);
    met_.push_back({term, first, std::move(text), variables, {}});
  } else {
    met_[at->second].renamed.push_back(term);
  }
}

std::vector<Met> MetEquations::take() {
  numbers_.clear();
  std::stable_sort(met_.begin(), met_.end(), [](const Met &a, const Met &b) {
    return a.variables > b.variables;
  });
  return std::exchange(met_, {});
}
