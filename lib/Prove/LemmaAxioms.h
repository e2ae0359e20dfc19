//===- LemmaAxioms.h - Rules that proofs of others use ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_LEMMAAXIOMS_H
#define DIVISI_LIB_PROVE_LEMMAAXIOMS_H

#include "divisi/Rules/Rule.h"
#include "divisi/Rules/Verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// Lemmas as axioms, which are used from source to target alone: the target may
/// be legal where the source is not.
class LemmaAxioms {
public:
  /// Those of `rules` that others of them name.
  explicit LemmaAxioms(const std::vector<Rule> &rules);

  /// All that `rules` name, each once.
  std::vector<Rule> of(const std::vector<Rule> &rules) const;
  /// Whether the lemma is about bits, so that it holds beside rounding.
  bool isExact(const std::string &name) const { return exact_.contains(name); }
  /// Whether the rule names one that is.
  bool hasExact(const Rule &rule) const {
    return std::ranges::any_of(
        rule.lemmas, [&](const std::string &name) { return isExact(name); });
  }

private:
  std::map<std::string, Rule> all_;
  std::set<std::string> exact_;
};

/// Refuses rule `number` of `rules` where one of its lemmas is not proved, or
/// not at all ranks. The verdicts on these are final.
void refuseWithoutLemmas(const std::vector<Rule> &rules,
                         std::vector<Verdict> &verdicts, size_t number);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_LEMMAAXIOMS_H
