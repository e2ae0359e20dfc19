//===- Effort.cpp - The work of a side ------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Effort.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::rewrite;

std::vector<bool> divisi::rewrite::knownValues(const CallGraph &side,
                                               std::vector<bool> known) {
  for (const Call &call : side.calls) {
    known.push_back(llvm::all_of(
        call.operands, [&](size_t operand) { return known[operand]; }));
  }
  return known;
}

/// What weights and constants alone make is computed once.
Effort divisi::rewrite::effortOf(const CallGraph &side,
                                 const std::vector<bool> &known,
                                 const std::vector<bool> &kept) {
  std::vector<bool> isKnown = knownValues(side, known);
  Effort effort;
  for (size_t i = 0; i != side.calls.size(); ++i) {
    if (!isKnown[known.size() + i] && (kept.empty() || !kept[i])) {
      effort = effort + side.calls[i].effort;
    }
  }
  return effort;
}

bool divisi::rewrite::takesLess(const CallGraph &target,
                                const CallGraph &source,
                                const std::vector<bool> &known,
                                const std::vector<bool> &kept) {
  Effort before = effortOf(source, known, kept);
  Effort after = effortOf(target, known);
  std::vector<bool> none(known.size());
  return after == before ? effortOf(target, none).operators <
                               effortOf(source, none, kept).operators
                         : after < before;
}

void divisi::rewrite::forEfforts(
    const ProvedRule &proved, Instantiator &instantiator,
    const std::function<bool(const Effort &, const Effort &)> &visit) {
  const Rule &rule = proved.rule;
  std::mt19937_64 random(1);
  std::vector<bool> known;
  for (const Variable &variable : rule.variables) {
    known.push_back(variable.kind != VariableKind::Activation);
  }
  TypeChoice types = typeChoices(rule).front();
  constexpr Draw kinds[] = {Draw::Any, Draw::Distinct, Draw::Large};
  constexpr int attempts = 12;
  for (const Ranks &ranks : proved.ranks) {
    for (int i = 0; i != attempts; ++i) {
      auto assignment = draw(rule, ranks, kinds[i % 3], random);
      if (!assignment) {
        break;
      }
      auto variables = Instantiator::variables(rule, *assignment, types);
      if (!variables) {
        continue;
      }
      auto source = instantiator.instantiate(rule, rule.source, *variables,
                                             *assignment, types);
      auto target = instantiator.instantiate(rule, rule.target, *variables,
                                             *assignment, types);
      if (source && target &&
          !visit(effortOf(*source, known), effortOf(*target, known))) {
        return;
      }
    }
  }
}
