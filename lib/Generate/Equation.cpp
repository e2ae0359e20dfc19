//===- Equation.cpp - Two graphs of one result ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Equation.h"

#include <algorithm>
#include <map>

using namespace divisi::rewrite;

namespace {

/// Collects the leaves of an equation, then the steps of each side.
class EquationMaker {
public:
  explicit EquationMaker(const Universe &universe) : universe_(universe) {}

  Equation run(const Term &source, const Term &target) {
    addLeaves(source);
    addLeaves(target);
    addSide(source, equation_.source);
    addSide(target, equation_.target);
    return equation_;
  }

private:
  const Term &termOf(uint32_t graph) const {
    return universe_.graphs()[graph].term;
  }
  void addLeaf(uint32_t graph) {
    const Term &term = termOf(graph);
    std::vector<uint32_t> &leaves = equation_.leaves;
    if (term.op != Term::kLeaf) {
      addLeaves(term);
    } else if (std::find(leaves.begin(), leaves.end(), graph) == leaves.end()) {
      leaves.push_back(graph);
    }
  }
  /// A leaf is the graph of its number: leaves come first.
  void addLeaves(const Term &term) {
    addLeaf(term.a);
    if (term.op != Term::kLeaf && term.b != Term::kNone) {
      addLeaf(term.b);
    }
  }
  void addSide(const Term &term, Sketch &side) {
    steps_.clear();
    side.result =
        term.op == Term::kLeaf ? valueOf(term.a, side) : addStep(term, side);
  }
  size_t addStep(const Term &term, Sketch &side) {
    Step step{term.op, {valueOf(term.a, side)}};
    if (term.b != Term::kNone) {
      step.operands.push_back(valueOf(term.b, side));
    }
    side.steps.push_back(std::move(step));
    return equation_.leaves.size() + side.steps.size() - 1;
  }
  size_t valueOf(uint32_t graph, Sketch &side) {
    const Term &term = termOf(graph);
    const std::vector<uint32_t> &leaves = equation_.leaves;
    if (term.op == Term::kLeaf) {
      return size_t(std::find(leaves.begin(), leaves.end(), graph) -
                    leaves.begin());
    }
    auto known = steps_.find(graph);
    if (known == steps_.end()) {
      size_t value = addStep(term, side);
      known = steps_.emplace(graph, value).first;
    }
    return known->second;
  }

  const Universe &universe_;
  Equation equation_;
  std::map<uint32_t, size_t> steps_; ///< Of a side, by graph.
};

/// Writes graphs with numbers for leaves.
class Writer {
public:
  explicit Writer(const Universe &universe) : universe_(universe) {}

  void write(const Term &term) {
    if (term.op == Term::kLeaf) {
      writeLeaf(term.a);
      return;
    }
    text_ += 'o' + std::to_string(term.op) + '(';
    write(universe_.graphs()[term.a].term);
    if (term.b != Term::kNone) {
      text_ += ',';
      write(universe_.graphs()[term.b].term);
    }
    text_ += ')';
  }
  void writeSign() { text_ += '='; }
  const std::string &text() const { return text_; }

private:
  void writeLeaf(uint32_t number) {
    auto found = std::find(seen_.begin(), seen_.end(), number);
    size_t at = size_t(found - seen_.begin());
    if (found == seen_.end()) {
      seen_.push_back(number);
    }
    text_ += 'l' + std::to_string(universe_.leafOf(number)) + '.' +
             std::to_string(at);
  }

  const Universe &universe_;
  std::vector<uint32_t> seen_;
  std::string text_;
};

} // namespace

Equation divisi::rewrite::equationOf(const Universe &universe,
                                     const Term &source, const Term &target) {
  return EquationMaker(universe).run(source, target);
}

std::string divisi::rewrite::canonicalText(const Universe &universe,
                                           const Term &source,
                                           const Term &target) {
  Writer forward(universe), backward(universe);
  forward.write(source);
  forward.writeSign();
  forward.write(target);
  backward.write(target);
  backward.writeSign();
  backward.write(source);
  return std::min(forward.text(), backward.text());
}

bool divisi::rewrite::isConstant(const Universe &universe, uint32_t graph) {
  const Term &term = universe.graphs()[graph].term;
  return term.op == Term::kLeaf && universe.vocabulary()
                                       .leaves[universe.leafOf(term.a)]
                                       .element.has_value();
}

size_t divisi::rewrite::countVariables(const Universe &universe,
                                       const Term &source, const Term &target) {
  std::vector<uint32_t> leaves = equationOf(universe, source, target).leaves;
  return size_t(std::count_if(leaves.begin(), leaves.end(), [&](uint32_t leaf) {
    return !isConstant(universe, leaf);
  }));
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

namespace {

/// Copies sides, step by step.
class Copier {
public:
  Copier(const Universe &universe, const Equation &from)
      : universe_(universe), from_(from) {}

  Equation run() {
    countLeaves(from_.source, from_.source.result);
    countLeaves(from_.target, from_.target.result);
    made_.source.result = copy(from_.source, from_.source.result, made_.source);
    made_.target.result = copy(from_.target, from_.target.result, made_.target);
    return made_;
  }

private:
  /// Leaves stand before steps, so they are counted first.
  void countLeaves(const Sketch &side, size_t value) {
    size_t leaves = from_.leaves.size();
    if (value < leaves) {
      if (!isConstant(universe_, from_.leaves[value]) ||
          std::count(made_.leaves.begin(), made_.leaves.end(),
                     from_.leaves[value]) == 0) {
        made_.leaves.push_back(from_.leaves[value]);
      }
      return;
    }
    for (size_t operand : side.steps[value - leaves].operands) {
      countLeaves(side, operand);
    }
  }
  size_t copyLeaf(uint32_t leaf) {
    auto begin = made_.leaves.begin();
    if (isConstant(universe_, leaf)) {
      return size_t(std::find(begin, made_.leaves.end(), leaf) - begin);
    }
    while (isConstant(universe_, made_.leaves[next_])) {
      ++next_;
    }
    return next_++;
  }
  size_t copy(const Sketch &side, size_t value, Sketch &made) {
    size_t leaves = from_.leaves.size();
    if (value < leaves) {
      return copyLeaf(from_.leaves[value]);
    }
    Step step = side.steps[value - leaves];
    for (size_t &operand : step.operands) {
      operand = copy(side, operand, made);
    }
    made.steps.push_back(std::move(step));
    return made_.leaves.size() + made.steps.size() - 1;
  }

  const Universe &universe_;
  const Equation &from_;
  Equation made_;
  size_t next_ = 0;
};

} // namespace

Equation divisi::rewrite::withoutSharing(const Universe &universe,
                                         const Equation &equation) {
  return Copier(universe, equation).run();
}

static Sketch copySide(const Sketch &side, size_t leaves,
                       const std::vector<size_t> &names) {
  Sketch made;
  std::vector<size_t> numbers = names;
  for (const Step &step : side.steps) {
    Step copied = step;
    for (size_t &operand : copied.operands) {
      operand = numbers[operand];
    }
    auto same = std::find_if(
        made.steps.begin(), made.steps.end(), [&](const Step &each) {
          return each.op == copied.op && each.operands == copied.operands;
        });
    numbers.push_back(leaves + size_t(same - made.steps.begin()));
    if (same == made.steps.end()) {
      made.steps.push_back(std::move(copied));
    }
  }
  made.result = numbers[side.result];
  return made;
}

Equation divisi::rewrite::withLeaves(const Equation &equation,
                                     const std::vector<size_t> &names) {
  Equation made;
  std::vector<size_t> numbers;
  std::map<size_t, size_t> known;
  for (size_t leaf = 0; leaf != names.size(); ++leaf) {
    auto [found, isNew] = known.emplace(names[leaf], made.leaves.size());
    if (isNew) {
      made.leaves.push_back(equation.leaves[names[leaf]]);
    }
    numbers.push_back(found->second);
  }
  size_t leaves = made.leaves.size();
  made.source = copySide(equation.source, leaves, numbers);
  made.target = copySide(equation.target, leaves, numbers);
  return made;
}
