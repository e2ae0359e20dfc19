//===- Generalizer.cpp - Equations as rules -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Generalizer.h"

#include "divisi/Rules/SampleTensors.h"
#include "lib/Generate/Shapes.h"

#include <algorithm>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Trying
//===----------------------------------------------------------------------===//

bool Generalizer::holds(const Rule &rule, const Ranks &ranks, bool isSmall) {
  constexpr int attempts = 12, wanted = 2;
  TypeChoice types{{"float", rt::DType::Field}};
  int legal = 0;
  for (int i = 0; i != attempts && legal != wanted; ++i) {
    auto assignment =
        isSmall ? divisi::rewrite::draw(rule, ranks, Draw::Any, random_)
                : draw(rule, ranks);
    if (!assignment) {
      return false;
    }
    auto variables = Instantiator::variables(rule, *assignment, types);
    if (!variables) {
      return false;
    }
    auto source = instantiator_.instantiate(rule, rule.source, *variables,
                                            *assignment, types);
    if (!source) {
      continue;
    }
    auto target = instantiator_.instantiate(rule, rule.target, *variables,
                                            *assignment, types);
    if (!target) {
      return false;
    }
    Instance instance{*variables, *source, *target};
    if (!(instance.form(*source, source->results[0]) ==
          instance.form(*target, target->results[0]))) {
      return false;
    }
    std::vector<rt::HostTensor> inputs;
    for (const TensorForm &form : *variables) {
      inputs.push_back(*drawTensor(form, Distribution::Normal, random_));
    }
    auto left = evaluate(*source, inputs), right = evaluate(*target, inputs);
    if (!left || !right || compare((*left)[0], (*right)[0], Tolerance::Exact)) {
      return false;
    }
    ++legal;
  }
  return legal == wanted;
}

std::optional<Rule> Generalizer::build(const Names &names) {
  unsigned choices = 1;
  for (const Sketch *side : {&equation_.source, &equation_.target}) {
    for (size_t i = 0; i != side->steps.size(); ++i) {
      Extra extra = universe_.vocabulary().operators[side->steps[i].op].extra;
      if (extra == Extra::FirstPart || extra == Extra::SecondPart) {
        choices = std::max(choices, 2u << i);
      }
    }
  }
  for (unsigned choice = 0; choice != choices; ++choice) {
    auto rule = build(names, choice);
    Ranks ranks;
    for (size_t i = 0; rule && i != rule->shapes.size(); ++i) {
      ranks[rule->shapes[i]] = 1;
    }
    if (rule && holds(*rule, ranks, false)) {
      return rule;
    }
  }
  return std::nullopt;
}

/// Gives `count` dims of that extent a name together, wherever that holds.
void Generalizer::nameSome(Names &names, int64_t extent, size_t count) {
  std::vector<int *> open;
  for (size_t leaf = 0; leaf != names.size(); ++leaf) {
    rt::Dims extents = extentsOf(leaf);
    for (size_t dim = 0; dim != extents.size(); ++dim) {
      if (extents[dim] == extent && names[leaf][dim] < 0) {
        open.push_back(&names[leaf][dim]);
      }
    }
  }
  if (open.size() < count) {
    return;
  }
  std::vector<bool> isChosen(open.size(), false);
  std::fill_n(isChosen.begin(), count, true);
  do {
    std::vector<int *> chosen;
    for (size_t i = 0; i != open.size(); ++i) {
      if (isChosen[i] && *open[i] < 0) {
        chosen.push_back(open[i]);
      }
    }
    if (chosen.size() != count) {
      continue;
    }
    for (int *each : chosen) {
      *each = count_;
    }
    isShape_.resize(size_t(count_) + 1);
    ++count_;
    auto rule = build(names);
    if (rule) {
      rule_ = std::move(rule);
      continue;
    }
    --count_;
    for (int *each : chosen) {
      *each = -1;
    }
  } while (std::prev_permutation(isChosen.begin(), isChosen.end()));
}

/// Starts over, with the equation at the extents of its vocabulary.
bool Generalizer::begin(const Equation &equation) {
  equation_ = equation;
  random_.seed(1);
  names_.clear();
  isShape_.clear();
  count_ = 0;
  for (size_t leaf = 0; leaf != equation.leaves.size(); ++leaf) {
    names_.emplace_back(extentsOf(leaf).size(), -1);
  }
  rule_ = equation.leaves.size() <= kMostLeaves ? build(names_) : std::nullopt;
  return rule_.has_value();
}

/// Whether the equation holds with those names that follow from its operators.
bool Generalizer::guess(const Equation &equation) {
  equation_ = equation;
  random_.seed(1);
  auto names = guessExtents(universe_, flows_, equation);
  if (!names || equation.leaves.size() > kMostLeaves) {
    return false;
  }
  names_ = std::move(*names);
  count_ = 0;
  for (const std::vector<int> &leaf : names_) {
    for (int name : leaf) {
      count_ = std::max(count_, name + 1);
    }
  }
  isShape_.assign(size_t(count_), false);
  rule_ = build(names_);
  return rule_.has_value();
}

std::optional<Rule> Generalizer::run(const Equation &equation) {
  constexpr size_t most = 5;
  if (guess(equation)) {
    return rule_;
  }
  if (!begin(equation)) {
    return std::nullopt;
  }
  std::set<int64_t> extents;
  for (size_t leaf = 0; leaf != equation.leaves.size(); ++leaf) {
    rt::Dims dims = extentsOf(leaf);
    extents.insert(dims.begin(), dims.end());
  }
  for (size_t count = 1; count <= most; ++count) {
    for (int64_t extent : extents) {
      nameSome(names_, extent, count);
    }
  }
  return rule_;
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

/// What a side makes of values for the leaves.
std::optional<rt::HostTensor>
Generalizer::evaluateInVocabulary(const Sketch &side,
                                  std::vector<rt::HostTensor> values) {
  for (const Step &step : side.steps) {
    std::vector<rt::HostTensor> operands;
    for (size_t operand : step.operands) {
      operands.push_back(values[operand]);
    }
    auto value = universe_.apply(step.op, operands);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(std::move(*value));
  }
  return values[side.result];
}

/// Whether both sides are the same at the extents of the vocabulary.
bool Generalizer::holdsInVocabulary(const Equation &equation) {
  if (equation.leaves.size() > kMostLeaves) {
    return false;
  }
  random_.seed(1);
  std::vector<rt::HostTensor> values;
  for (uint32_t leaf : equation.leaves) {
    values.push_back(
        isConstant(universe_, leaf)
            ? universe_.resultOf(leaf)
            : *drawTensor({rt::DType::Field, universe_.extentsOf(leaf)},
                          Distribution::Normal, random_));
  }
  auto source = evaluateInVocabulary(equation.source, values);
  auto target = evaluateInVocabulary(equation.target, values);
  return source && target && source->dims() == target->dims() &&
         !compare(*source, *target, Tolerance::Exact);
}

/// Makes `count` of the leaves that have the name of `leaf` another one,
/// wherever the equation still holds.
void Generalizer::separateSome(const Equation &tree, std::vector<size_t> &names,
                               size_t leaf, size_t count) {
  std::vector<size_t> same;
  for (size_t i = leaf + 1; i != names.size(); ++i) {
    if (names[i] == names[leaf]) {
      same.push_back(i);
    }
  }
  if (same.size() < count) {
    return;
  }
  std::vector<bool> isChosen(same.size(), false);
  std::fill_n(isChosen.begin(), count, true);
  do {
    std::vector<size_t> tried = names;
    size_t first = names.size();
    for (size_t i = 0; i != same.size(); ++i) {
      if (isChosen[i]) {
        first = std::min(first, same[i]);
        tried[same[i]] = first;
      }
    }
    if (holdsInVocabulary(withLeaves(tree, tried))) {
      names = std::move(tried);
      return separateSome(tree, names, leaf, count);
    }
  } while (std::prev_permutation(isChosen.begin(), isChosen.end()));
}

Equation Generalizer::separate(const Equation &equation) {
  constexpr size_t most = 4;
  Equation tree = withoutSharing(universe_, equation);
  std::vector<size_t> names;
  for (size_t i = 0; i != tree.leaves.size(); ++i) {
    names.push_back(size_t(
        std::find(tree.leaves.begin(), tree.leaves.end(), tree.leaves[i]) -
        tree.leaves.begin()));
  }
  for (size_t count = 1; count <= most; ++count) {
    for (size_t leaf = 0; leaf != names.size(); ++leaf) {
      if (!isConstant(universe_, tree.leaves[leaf])) {
        separateSome(tree, names, leaf, count);
      }
    }
  }
  return withLeaves(tree, names);
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

bool Generalizer::holdsAtRanks(const Rule &rule) {
  size_t legal = 0;
  for (const Ranks &ranks : allRanks(rule)) {
    bool isSmallRank =
        std::all_of(ranks.begin(), ranks.end(),
                    [](const auto &each) { return each.second <= 2; });
    if (isSmallRank) {
      if (!holds(rule, ranks, true)) {
        return false;
      }
      ++legal;
    }
  }
  return legal > 1;
}

/// Two shapes that stand side by side everywhere are one.
void Generalizer::mergeShapes() {
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    std::vector<std::string> shapes = rule_->shapes;
    for (const std::string &first : shapes) {
      for (const std::string &second : shapes) {
        auto merged = withoutShape(*rule_, first, second);
        if (!isChanged && merged && holdsAtRanks(*merged)) {
          rule_ = std::move(merged);
          isChanged = true;
        }
      }
    }
  }
}

Rule Generalizer::widen() {
  for (int name = 0; name != count_; ++name) {
    isShape_[size_t(name)] = true;
    auto rule = build(names_);
    if (rule && holdsAtRanks(*rule)) {
      rule_ = std::move(rule);
    } else {
      isShape_[size_t(name)] = false;
    }
  }
  mergeShapes();
  return *rule_;
}
