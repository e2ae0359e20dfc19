//===- Deriver.cpp - Equations that follow by rewriting -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Deriver.h"

#include <algorithm>

using namespace divisi::rewrite;

/// Of graphs that are looked at for one.
static constexpr size_t kMostGraphs = 200;
/// And of matches of one side.
static constexpr size_t kMostMatches = 64;

/// Collects the leaves of `value`.
static void addLeaves(const Equation &equation, const Sketch &side,
                      size_t value, std::set<size_t> &leaves) {
  if (value < equation.leaves.size()) {
    leaves.insert(value);
    return;
  }
  for (size_t operand : side.steps[value - equation.leaves.size()].operands) {
    addLeaves(equation, side, operand, leaves);
  }
}

/// Which operators `value` may be the last one of: none for a leaf.
static uint64_t needOf(const Equation &equation, const Sketch &side,
                       size_t value) {
  size_t leaves = equation.leaves.size();
  return value < leaves ? 0 : Universe::maskOf(side.steps[value - leaves].op);
}

void Deriver::addWay(const Equation &equation, bool isReversed) {
  Way way{equation, isReversed, {}};
  std::set<size_t> from;
  addLeaves(equation, way.from(), way.from().result, from);
  if (way.from().result < equation.leaves.size()) {
    return;
  }
  way.constants.fill(Term::kNone);
  // What does not depend on a leaf may have any there: the one where it was
  // met.
  for (size_t i = 0; i != equation.leaves.size(); ++i) {
    if (isConstant(universe_, equation.leaves[i]) || from.count(i) == 0) {
      way.constants[i] = equation.leaves[i];
    }
  }
  const Step &last = way.lastStep();
  std::array<uint64_t, 2> needs{};
  for (size_t i = 0; i != last.operands.size(); ++i) {
    needs[i] = needOf(equation, way.from(), last.operands[i]);
  }
  ways_.resize(universe_.vocabulary().operators.size());
  std::vector<Ways> &all = ways_[last.op];
  auto found = std::find_if(all.begin(), all.end(), [&](const Ways &each) {
    return each.needs == needs;
  });
  if (found == all.end()) {
    found = all.insert(found, {needs, {}});
  }
  found->ways.push_back(std::move(way));
}

void Deriver::use(const Equation &equation) {
  if (equation.leaves.size() <= Generalizer::kMostLeaves) {
    addWay(equation, false);
    addWay(equation, true);
  }
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

void Deriver::match(Search &search, size_t value, uint32_t graph,
                    const Next &next) const {
  const Equation &equation = search.way.equation;
  uint32_t representative = universe_.graphs()[graph].representative;
  if (value < equation.leaves.size()) {
    uint32_t &bound = search.binding[value];
    if (bound == representative) {
      next();
    } else if (bound == Term::kNone) {
      bound = representative;
      next();
      bound = Term::kNone;
    }
    return;
  }
  const Step &step = search.way.from().steps[value - equation.leaves.size()];
  if ((universe_.lastOperators(representative) & Universe::maskOf(step.op)) ==
      0) {
    return;
  }
  for (uint32_t member : universe_.membersOf(representative)) {
    const Term &term = universe_.graphs()[member].term;
    if (term.op == step.op && search.found < kMostMatches) {
      matchStep(search, step, term.a, term.b, next);
    }
  }
}

void Deriver::matchStep(Search &search, const Step &step, uint32_t a,
                        uint32_t b, const Next &next) const {
  if (step.operands.size() == 1) {
    match(search, step.operands[0], a, next);
    return;
  }
  match(search, step.operands[0], a,
        [&] { match(search, step.operands[1], b, next); });
}

uint32_t Deriver::instantiate(const Way &way, size_t value,
                              const Binding &binding) const {
  const Equation &equation = way.equation;
  if (value < equation.leaves.size()) {
    return binding[value];
  }
  const Step &step = way.to().steps[value - equation.leaves.size()];
  Term term{0, step.op, 0, Term::kNone};
  for (size_t i = 0; i != step.operands.size(); ++i) {
    uint32_t graph = instantiate(way, step.operands[i], binding);
    if (graph == Term::kNone) {
      return graph;
    }
    (i == 0 ? term.a : term.b) = graph;
  }
  return universe_.findClass(term);
}

/// Adds the target where the source was found.
void Deriver::addResult(const Way &way, const Binding &binding,
                        std::vector<Term> &results) const {
  size_t leaves = way.equation.leaves.size(), result = way.to().result;
  if (result < leaves) {
    results.push_back(universe_.graphs()[binding[result]].term);
    return;
  }
  const Step &last = way.to().steps[result - leaves];
  Term made{0, last.op, instantiate(way, last.operands[0], binding),
            Term::kNone};
  bool isMade = made.a != Term::kNone;
  if (isMade && last.operands.size() == 2) {
    made.b = instantiate(way, last.operands[1], binding);
    isMade = made.b != Term::kNone;
  }
  if (isMade) {
    made.size = universe_.sizeOf(made.a, made.b);
    results.push_back(made);
  }
}

std::vector<Term> Deriver::rewrite(const Term &term) const {
  std::vector<Term> results;
  if (term.op >= ways_.size()) {
    return results;
  }
  auto has = [&](uint32_t graph, uint64_t need) {
    return need == 0 ||
           (universe_.lastOperators(universe_.graphs()[graph].representative) &
            need) != 0;
  };
  for (const Ways &each : ways_[term.op]) {
    if (!has(term.a, each.needs[0]) ||
        (term.b != Term::kNone && !has(term.b, each.needs[1]))) {
      continue;
    }
    for (const Way &way : each.ways) {
      Search search{way, way.constants, 0};
      matchStep(search, way.lastStep(), term.a, term.b, [&] {
        ++search.found;
        addResult(way, search.binding, results);
      });
    }
  }
  return results;
}

/// The term on the representatives of its operands, which has the same
/// result. It may have more operators, for these may share less.
Term Deriver::onRepresentatives(Term term) const {
  if (term.op == Term::kLeaf) {
    return term;
  }
  term.a = universe_.graphs()[term.a].representative;
  if (term.b != Term::kNone) {
    term.b = universe_.graphs()[term.b].representative;
  }
  term.size = universe_.sizeOf(term.a, term.b);
  return term;
}

bool Deriver::derives(const Term &term, const Term &first) {
  Term begin = onRepresentatives(term), end = onRepresentatives(first);
  if (begin == end || (begin < term && open_.count(begin) == 0)) {
    return true;
  }
  std::set<Term> seen{begin};
  std::vector<Term> queue{begin};
  std::optional<uint64_t> wanted;
  for (size_t next = 0; next != queue.size() && next < kMostGraphs; ++next) {
    for (const Term &each : rewrite(queue[next])) {
      if (!seen.insert(each).second) {
        continue;
      }
      if (each == end) {
        return true;
      }
      if (each.op == Term::kLeaf) {
        continue;
      }
      if (each < term && open_.count(each) == 0) {
        // Where extents are equal by chance, an equation may not hold.
        wanted = wanted ? wanted : universe_.fingerprint(term);
        if (universe_.fingerprint(each) == wanted) {
          return true;
        }
        continue;
      }
      queue.push_back(each);
    }
  }
  return false;
}
