//===- Orient.cpp - Which way a rule goes ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Orient.h"

#include "divisi/Rules/Effort.h"
#include "divisi/Rules/RuleText.h"

#include <algorithm>
#include <bit>

using namespace divisi;
using namespace divisi::rewrite;

static Gain gainOf(const Effort &source, const Effort &target) {
  if (!(target < source)) {
    return Gain::None;
  }
  if (target.contractionFlops != source.contractionFlops ||
      target.contractions != source.contractions) {
    return Gain::Contractions;
  }
  return target.operators != source.operators ? Gain::Operators
                                              : Gain::Elements;
}

bool divisi::rewrite::isMatchable(const Rule &rule, bool isReversed) {
  const std::vector<Node> &nodes =
      (isReversed ? rule.target : rule.source).nodes;
  if (nodes.empty()) {
    return false;
  }
  return std::all_of(
      rule.variables.begin(), rule.variables.end(),
      [&](const Variable &variable) {
        return std::any_of(nodes.begin(), nodes.end(), [&](const Node &node) {
          return std::count(node.operands.begin(), node.operands.end(),
                            variable.name) != 0;
        });
      });
}

/// The most that the rule takes less of where its extents are drawn.
static Gain mostGain(const Rule &rule, Instantiator &instantiator) {
  Gain most = Gain::None;
  forEfforts({rule, allRanks(rule)}, instantiator,
             [&](const Effort &source, const Effort &target) {
               most = std::min(most, gainOf(source, target));
               return most != Gain::Contractions;
             });
  return most;
}

Rule divisi::rewrite::onWay(const Rule &rule, const Way &way) {
  Rule result = rule;
  if (way.isReversed) {
    std::swap(result.source, result.target);
  }
  for (size_t i = 0; i != way.kinds.size(); ++i) {
    result.variables[i].kind = way.kinds[i];
  }
  return result;
}

/// With the fewest weights by which the rule takes less of anything: with more
/// it would be about less.
static Way withWeights(const Rule &rule, bool isReversed,
                       Instantiator &instantiator) {
  size_t count = rule.variables.size();
  std::vector<unsigned> choices;
  for (unsigned choice = 0; choice + 1 < 1u << count; ++choice) {
    choices.push_back(choice);
  }
  std::stable_sort(choices.begin(), choices.end(), [](unsigned a, unsigned b) {
    return std::popcount(a) < std::popcount(b);
  });
  Way way{isReversed, {}, Gain::None};
  for (unsigned choice : choices) {
    way.kinds.clear();
    for (size_t i = 0; i != count; ++i) {
      way.kinds.push_back(choice >> i & 1 ? VariableKind::Weight
                                          : VariableKind::Activation);
    }
    way.gain = mostGain(onWay(rule, way), instantiator);
    if (way.gain != Gain::None) {
      return way;
    }
  }
  way.kinds.assign(count, VariableKind::Activation);
  return way;
}

std::optional<Way> divisi::rewrite::bestWay(const Rule &rule,
                                            Instantiator &instantiator) {
  std::optional<Way> best;
  for (bool isReversed : {false, true}) {
    if (!isMatchable(rule, isReversed)) {
      continue;
    }
    Way way = withWeights(rule, isReversed, instantiator);
    if (!best || way.gain < best->gain) {
      best = std::move(way);
    }
  }
  return best;
}
