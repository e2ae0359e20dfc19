//===- Deriver.cpp - Equations that follow by rewriting -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Generate/Deriver.h"

#include <algorithm>

using namespace divisi::rewrite;

/// Of graphs that are looked at for one.
static constexpr size_t kMostGraphs = 200;
/// And of matches of one side.
static constexpr size_t kMostMatches = 64;

/// Whether every variable of `value` stands on the other side as well.
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

void Deriver::addWay(const Equation &equation, bool isReversed) {
  Way way{equation, isReversed};
  std::set<size_t> from, to;
  addLeaves(equation, way.from(), way.from().result, from);
  addLeaves(equation, way.to(), way.to().result, to);
  bool isBound = std::all_of(to.begin(), to.end(), [&](size_t leaf) {
    return from.count(leaf) != 0 ||
           isConstant(universe_, equation.leaves[leaf]);
  });
  if (way.from().result < equation.leaves.size() || !isBound) {
    return;
  }
  size_t at = way.from().result - equation.leaves.size();
  uint16_t op = way.from().steps[at].op;
  ways_.resize(universe_.world().operators.size());
  ways_[op].push_back(std::move(way));
}

void Deriver::use(const Equation &equation) {
  addWay(equation, false);
  addWay(equation, true);
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

void Deriver::match(const Way &way, size_t value, uint32_t graph,
                    const Binding &binding,
                    std::vector<Binding> &found) const {
  const Equation &equation = way.equation;
  uint32_t stand = universe_.graphs()[graph].stand;
  if (value < equation.leaves.size()) {
    Binding longer = binding;
    if (longer[value] == Term::kNone || longer[value] == stand) {
      longer[value] = stand;
      found.push_back(std::move(longer));
    }
    return;
  }
  const Step &step = way.from().steps[value - equation.leaves.size()];
  for (uint32_t member : universe_.membersOf(stand)) {
    const Term &term = universe_.graphs()[member].term;
    if (term.op == step.op && found.size() < kMostMatches) {
      matchStep(way, step, term.a, term.b, binding, found);
    }
  }
}

void Deriver::matchStep(const Way &way, const Step &step, uint32_t a,
                        uint32_t b, const Binding &binding,
                        std::vector<Binding> &found) const {
  std::vector<Binding> first;
  match(way, step.operands[0], a, binding, first);
  if (step.operands.size() == 1) {
    found.insert(found.end(), first.begin(), first.end());
    return;
  }
  for (const Binding &each : first) {
    match(way, step.operands[1], b, each, found);
  }
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
  uint32_t graph = universe_.find(term);
  return graph == Term::kNone ? graph : universe_.graphs()[graph].stand;
}

void Deriver::rewrite(const Way &way, const Term &term,
                      std::vector<Term> &results) const {
  const Equation &equation = way.equation;
  size_t leaves = equation.leaves.size();
  Binding none(leaves, Term::kNone);
  for (size_t i = 0; i != leaves; ++i) {
    if (isConstant(universe_, equation.leaves[i])) {
      none[i] = equation.leaves[i];
    }
  }
  std::vector<Binding> found;
  matchStep(way, way.from().steps[way.from().result - leaves], term.a, term.b,
            none, found);
  for (const Binding &binding : found) {
    size_t result = way.to().result;
    if (result < leaves) {
      results.push_back(universe_.graphs()[binding[result]].term);
      continue;
    }
    const Step &last = way.to().steps[result - leaves];
    Term made{0, last.op, instantiate(way, last.operands[0], binding),
              Term::kNone};
    if (last.operands.size() == 2) {
      made.b = instantiate(way, last.operands[1], binding);
    }
    if (made.a == Term::kNone ||
        (last.operands.size() == 2 && made.b == Term::kNone)) {
      continue;
    }
    made.size = universe_.sizeOf(made.a, made.b);
    results.push_back(made);
  }
}

std::vector<Term> Deriver::rewrite(const Term &term) const {
  std::vector<Term> results;
  if (term.op < ways_.size()) {
    for (const Way &way : ways_[term.op]) {
      rewrite(way, term, results);
    }
  }
  return results;
}

bool Deriver::derives(const Term &term, const Term &first) {
  std::set<Term> seen{term};
  std::vector<Term> queue{term};
  std::optional<uint64_t> wanted;
  for (size_t next = 0; next != queue.size() && next < kMostGraphs; ++next) {
    for (const Term &each : rewrite(queue[next])) {
      if (!seen.insert(each).second) {
        continue;
      }
      if (each == first) {
        return true;
      }
      if (each.op == Term::kLeaf) {
        continue;
      }
      if (each < term && open_.count(each) == 0) {
        // Where extents of the world are equal by chance, an equation may not
        // hold.
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
