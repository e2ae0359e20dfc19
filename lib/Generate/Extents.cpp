//===- Extents.cpp - Which extents have to be equal -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Extents.h"

#include "divisi/Rules/LinearFit.h"

#include <algorithm>
#include <random>

using namespace divisi;
using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// One operator
//===----------------------------------------------------------------------===//

namespace {

/// The dims of all operands, counted through.
class OperandDims {
public:
  explicit OperandDims(std::vector<TensorForm> forms)
      : forms_(std::move(forms)) {
    for (size_t i = 0; i != forms_.size(); ++i) {
      for (size_t dim = 0; dim != forms_[i].dims.size(); ++dim) {
        places_.emplace_back(i, dim);
      }
    }
  }
  size_t size() const { return places_.size(); }
  int64_t operator[](size_t at) const {
    return forms_[places_[at].first].dims[places_[at].second];
  }
  void set(size_t at, int64_t extent) {
    forms_[places_[at].first].dims[places_[at].second] = extent;
  }
  const std::vector<TensorForm> &forms() const { return forms_; }

private:
  std::vector<TensorForm> forms_;
  std::vector<std::pair<size_t, size_t>> places_;
};

} // namespace

/// Finds `count` dims of one extent that change together, of those in no group.
static void addGroups(Universe &universe, uint16_t op, const OperandDims &dims,
                      size_t count, std::vector<bool> &isIn, Flow &flow) {
  constexpr int64_t other = 7;
  std::vector<bool> isChosen(dims.size(), false);
  std::fill_n(isChosen.begin(), std::min(count, dims.size()), true);
  do {
    OperandDims changed = dims;
    std::vector<size_t> group;
    bool isOne = true;
    for (size_t i = 0; i != dims.size(); ++i) {
      if (isChosen[i]) {
        isOne &= !isIn[i] && (group.empty() || dims[group[0]] == dims[i]);
        group.push_back(i);
        changed.set(i, other);
      }
    }
    if (isOne && group.size() == count &&
        universe.callOf(op, changed.forms())) {
      for (size_t i : group) {
        isIn[i] = true;
      }
      flow.groups.push_back(std::move(group));
    }
  } while (std::prev_permutation(isChosen.begin(), isChosen.end()));
}

Flow Flows::ask(uint16_t op, const std::vector<TensorForm> &forms) {
  constexpr size_t most = 4;
  Flow flow;
  OperandDims dims(forms);
  std::vector<bool> isIn(dims.size(), false);
  for (size_t count = 1; count <= std::min(most, dims.size()); ++count) {
    addGroups(universe_, op, dims, count, isIn, flow);
  }
  std::mt19937_64 random(1);
  std::vector<std::vector<int64_t>> points, extents;
  for (size_t i = 0; i != 4 * flow.groups.size() + 8; ++i) {
    points.push_back({1});
    for (const std::vector<size_t> &group : flow.groups) {
      points.back().push_back(int64_t(5 + random() % 20));
      for (size_t dim : group) {
        dims.set(dim, points.back().back());
      }
    }
    auto call = universe_.callOf(op, dims.forms());
    if (call) {
      extents.push_back(call->result.dims);
    } else {
      points.pop_back();
    }
  }
  auto call = universe_.callOf(op, forms);
  for (size_t dim = 0; call && dim != call->result.dims.size(); ++dim) {
    std::vector<int64_t> values;
    for (const auto &each : extents) {
      values.push_back(each[dim]);
    }
    flow.results.push_back(points.size() > flow.groups.size() + 1
                               ? fitLinear(points, values)
                               : std::nullopt);
  }
  return flow;
}

const Flow &Flows::of(uint16_t op, const std::vector<TensorForm> &forms) {
  std::vector<rt::Dims> dims;
  for (const TensorForm &form : forms) {
    dims.push_back(form.dims);
  }
  auto found = known_.find({op, dims});
  if (found == known_.end()) {
    found = known_.emplace(std::pair(op, dims), ask(op, forms)).first;
  }
  return found->second;
}

//===----------------------------------------------------------------------===//
// An equation
//===----------------------------------------------------------------------===//

namespace {

/// A number and how often each unknown, which is not 0 times.
struct Sum {
  int64_t number = 0;
  std::map<size_t, int64_t> terms;

  void add(const Sum &other, int64_t factor) {
    number += factor * other.number;
    for (auto [unknown, count] : other.terms) {
      if ((terms[unknown] += factor * count) == 0) {
        terms.erase(unknown);
      }
    }
  }
  bool operator==(const Sum &) const = default;
};

/// An extent of which nothing is said, or one that is a function of others.
struct Unknown {
  int64_t extent = 0;         ///< In the vocabulary.
  std::string function;       ///< Empty: of a leaf.
  std::vector<Sum> arguments; ///< Of the function.
};

/// A value of a side.
struct Shaped {
  TensorForm form;
  std::vector<Sum> dims;
  size_t axis = 0;          ///< Of a concatenation,
  std::optional<Sum> first; ///< and what its first operand has there.
};

/// What follows of the extents of an equation.
class Guess {
public:
  Guess(Universe &universe, Flows &flows, const Equation &equation)
      : universe_(universe), flows_(flows), equation_(equation) {}

  std::optional<std::vector<std::vector<int>>> run();

private:
  size_t add(int64_t extent, std::string function = {},
             std::vector<Sum> arguments = {});
  Sum sumOf(size_t unknown) const { return {0, {{unknown, 1}}}; }
  Sum resolved(const Sum &sum) const;
  void fix(size_t unknown);
  void fix(const Sum &sum);
  void equate(const Sum &left, const Sum &right);
  void unite(size_t left, size_t right);
  bool addLeaves();
  std::optional<Shaped> addSide(const Sketch &side);
  std::optional<Shaped> addStep(const Step &step,
                                const std::vector<const Shaped *> &operands);
  Sum cutOf(const Shaped &value, size_t axis);
  void addPart(const TableOperator &op, const Shaped &operand, Shaped &value);

  Universe &universe_;
  Flows &flows_;
  const Equation &equation_;
  std::vector<Shaped> leaves_;
  std::vector<Unknown> unknowns_;
  std::vector<Sum> known_; ///< Of each unknown; itself where nothing is known.
  std::vector<std::pair<Sum, Sum>> equal_;
};

} // namespace

size_t Guess::add(int64_t extent, std::string function,
                  std::vector<Sum> arguments) {
  unknowns_.push_back({extent, std::move(function), std::move(arguments)});
  known_.push_back(sumOf(unknowns_.size() - 1));
  return unknowns_.size() - 1;
}

Sum Guess::resolved(const Sum &sum) const {
  Sum result{sum.number, {}};
  for (auto [unknown, count] : sum.terms) {
    const Sum &known = known_[unknown];
    result.add(known == sumOf(unknown) ? known : resolved(known), count);
  }
  return result;
}

void Guess::fix(size_t unknown) {
  known_[unknown] = {unknowns_[unknown].extent, {}};
  for (const Sum &argument : unknowns_[unknown].arguments) {
    fix(argument);
  }
}

void Guess::fix(const Sum &sum) {
  for (auto [unknown, count] : resolved(sum).terms) {
    fix(unknown);
  }
}

void Guess::unite(size_t left, size_t right) {
  const Unknown &a = unknowns_[left], &b = unknowns_[right];
  if (a.extent != b.extent || a.function != b.function) {
    fix(left);
    fix(right);
    return;
  }
  std::vector<Sum> arguments = a.arguments, others = b.arguments;
  known_[right] = sumOf(left);
  for (size_t i = 0; i != arguments.size(); ++i) {
    equate(arguments[i], others[i]);
  }
}

void Guess::equate(const Sum &left, const Sum &right) {
  Sum difference = resolved(left);
  difference.add(resolved(right), -1);
  const auto &terms = difference.terms;
  if (terms.empty()) {
    return;
  }
  if (difference.number == 0 && terms.size() == 2 &&
      terms.begin()->second + terms.rbegin()->second == 0) {
    unite(terms.begin()->first, terms.rbegin()->first);
    return;
  }
  fix(difference);
}

bool Guess::addLeaves() {
  for (uint32_t leaf : equation_.leaves) {
    Shaped value;
    value.form = {rt::DType::Field, universe_.extentsOf(leaf)};
    for (int64_t extent : value.form.dims) {
      value.dims.push_back(sumOf(add(extent)));
    }
    leaves_.push_back(std::move(value));
  }
  return !unknowns_.empty();
}

/// Where an axis is cut, which is in its midst in the vocabulary: behind the
/// first of two that were joined, or anywhere, but at one place for one extent.
Sum Guess::cutOf(const Shaped &value, size_t axis) {
  Sum extent = resolved(value.dims[axis]);
  if (value.first && value.axis == axis && value.dims[axis].terms.size() == 2) {
    return *value.first;
  }
  bool isOne = extent.number == 0 && extent.terms.size() == 1 &&
               extent.terms.begin()->second == 1;
  if (!isOne) {
    fix(extent);
    return {value.form.dims[axis] / 2, {}};
  }
  return sumOf(add(value.form.dims[axis] / 2, "cut", {extent}));
}

void Guess::addPart(const TableOperator &op, const Shaped &operand,
                    Shaped &value) {
  value.dims = operand.dims;
  Sum cut = cutOf(operand, op.axis);
  Sum &dim = value.dims[op.axis];
  if (op.extra == Extra::FirstPart) {
    dim = std::move(cut);
  } else {
    dim.add(cut, -1);
  }
}

std::optional<Shaped>
Guess::addStep(const Step &step, const std::vector<const Shaped *> &operands) {
  const TableOperator &op = universe_.vocabulary().operators[step.op];
  std::vector<TensorForm> forms;
  std::vector<Sum> dims;
  for (const Shaped *operand : operands) {
    forms.push_back(operand->form);
    dims.insert(dims.end(), operand->dims.begin(), operand->dims.end());
  }
  auto call = universe_.callOf(step.op, forms);
  if (!call) {
    return std::nullopt;
  }
  Shaped value;
  value.form = call->result;
  if (op.extra == Extra::FirstPart || op.extra == Extra::SecondPart) {
    addPart(op, *operands[0], value);
    return value;
  }
  const Flow &flow = flows_.of(step.op, forms);
  std::vector<bool> isIn(dims.size(), false);
  for (const std::vector<size_t> &group : flow.groups) {
    for (size_t dim : group) {
      isIn[dim] = true;
      equal_.emplace_back(dims[group[0]], dims[dim]);
    }
  }
  for (size_t dim = 0; dim != dims.size(); ++dim) {
    if (!isIn[dim]) {
      fix(dims[dim]);
    }
  }
  for (size_t dim = 0; dim != flow.results.size(); ++dim) {
    const auto &result = flow.results[dim];
    if (!result) {
      value.dims.push_back(sumOf(
          add(value.form.dims[dim],
              std::to_string(step.op) + "." + std::to_string(dim), dims)));
      continue;
    }
    Sum sum{(*result)[0], {}};
    for (size_t group = 0; group != flow.groups.size(); ++group) {
      sum.add(dims[flow.groups[group][0]], (*result)[group + 1]);
    }
    value.dims.push_back(std::move(sum));
  }
  if (op.op == "concat") {
    auto axis = std::find_if(
        op.attributes.begin(), op.attributes.end(),
        [](const TableAttribute &each) { return each.name == "axis"; });
    value.axis = size_t(axis->numbers[0]);
    value.first = operands[0]->dims[value.axis];
  }
  return value;
}

std::optional<Shaped> Guess::addSide(const Sketch &side) {
  std::vector<Shaped> values = leaves_;
  for (const Step &step : side.steps) {
    std::vector<const Shaped *> operands;
    for (size_t operand : step.operands) {
      operands.push_back(&values[operand]);
    }
    auto value = addStep(step, operands);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(std::move(*value));
  }
  return values[side.result];
}

std::optional<std::vector<std::vector<int>>> Guess::run() {
  if (!addLeaves()) {
    return std::nullopt;
  }
  auto source = addSide(equation_.source), target = addSide(equation_.target);
  if (!source || !target || source->dims.size() != target->dims.size()) {
    return std::nullopt;
  }
  for (size_t dim = 0; dim != source->dims.size(); ++dim) {
    equal_.emplace_back(source->dims[dim], target->dims[dim]);
  }
  // What is fixed later may make sides of earlier ones numbers.
  for (std::vector<Sum> before; before != known_;) {
    before = known_;
    for (size_t i = 0; i != equal_.size(); ++i) {
      auto [left, right] = equal_[i];
      equate(left, right);
    }
  }
  std::map<size_t, int> numbers;
  std::vector<std::vector<int>> names;
  for (const Shaped &leaf : leaves_) {
    names.emplace_back();
    for (const Sum &dim : leaf.dims) {
      Sum extent = resolved(dim);
      int name = -1;
      if (!extent.terms.empty()) {
        name = numbers.emplace(extent.terms.begin()->first, numbers.size())
                   .first->second;
      }
      names.back().push_back(name);
    }
  }
  return numbers.empty() ? std::nullopt : std::optional(std::move(names));
}

std::optional<std::vector<std::vector<int>>>
divisi::rewrite::guessExtents(Universe &universe, Flows &flows,
                              const Equation &equation) {
  return Guess(universe, flows, equation).run();
}
