//===- Lemmas.h - Rules that proofs of others use ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule may say `by a, b`: its proof then uses the rules a and b, which stand
// before it in the same file and have to be proved themselves.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_LEMMAS_H
#define DIVISI_RULES_LEMMAS_H

#include "divisi/Rules/Rule.h"
#include "divisi/Support/Status.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// Whether each lemma of `rule` is one of `before`, and can be used: it is no
/// axiom, not open, and claims no less than the rule. Fails with Invalid.
Status checkLemmas(const Rule &rule, std::span<const Rule> before,
                   const std::string &file);

/// Those of `rules` that are `wanted`, and all on which their proofs rest, in
/// their order.
std::vector<Rule> withLemmas(const std::vector<Rule> &rules,
                             const std::function<bool(const Rule &)> &wanted);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_LEMMAS_H
