//===- SeenEquations.h - Equations found so far -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_SEENEQUATIONS_H
#define DIVISI_LIB_GENERATE_SEENEQUATIONS_H

#include "lib/Generate/Deriver.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace divisi::rewrite {

/// A graph and the first of its class, which are equal.
struct SeenEquation {
  Term term, first;          ///< The graph, and the one that was met before.
  std::string text;          ///< The same for all names of tensors.
  size_t variables;          ///< How many different ones both have.
  std::vector<Term> renamed; ///< Such graphs with other names of tensors.
};

/// Lets a deriver know that it is not known to hold, by whatever names.
void leaveOpen(const SeenEquation &seen, Deriver &deriver);

/// Equations, each once up to names of tensors.
class SeenEquations {
public:
  /// Of graphs of `universe`, which outlives this.
  explicit SeenEquations(const Universe &universe) : universe_(universe) {}

  /// Of two graphs with equal results.
  void add(const Term &term, const Term &first);
  /// All of them, those of the most variables first: others are cases of them.
  /// Forgets them.
  std::vector<SeenEquation> take();

private:
  const Universe &universe_;
  std::vector<SeenEquation> seen_;
  std::unordered_map<std::string, size_t> numbers_; ///< By text.
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_SEENEQUATIONS_H
