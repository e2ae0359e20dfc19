//===- GeneralizerRules.cpp - The rules of equations ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Generalizer.h"

#include "divisi/Rules/LinearFit.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rewrite;

/// An index of dims is called i, so nothing else is.
static constexpr const char *kExtents[] = {"a", "b", "c", "d", "e", "f",
                                           "g", "h", "k", "l", "m", "n",
                                           "o", "p", "q", "r"};
static constexpr const char *kVariables[] = {"x", "y", "z", "w", "u", "v", "t"};
static_assert(std::size(kVariables) == Generalizer::kMostLeaves);

std::string Generalizer::nameOf(int number) const {
  auto at = size_t(number);
  return at < std::size(kExtents) ? kExtents[at] : "e" + std::to_string(number);
}

rt::Dims Generalizer::extentsOf(size_t leaf) const {
  return universe_.extentsOf(equation_.leaves[leaf]);
}

Items Generalizer::itemsOf(const Names &names, size_t leaf) const {
  Items items;
  rt::Dims extents = extentsOf(leaf);
  for (size_t dim = 0; dim != extents.size(); ++dim) {
    int name = names[leaf][dim];
    if (name < 0) {
      items.push_back({numberExpr(extents[dim]), {}, {}});
    } else if (isShape_[size_t(name)]) {
      items.push_back({{}, {}, nameOf(name)});
    } else {
      items.push_back({nameExpr(nameOf(name)), {}, {}});
    }
  }
  return items;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

std::string Generalizer::valueName(const Sketch &sketch, size_t value) const {
  size_t leaves = equation_.leaves.size();
  if (value < leaves) {
    auto variable = size_t(std::count_if(
        equation_.leaves.begin(), equation_.leaves.begin() + int64_t(value),
        [&](uint32_t leaf) { return !isConstant(universe_, leaf); }));
    return isConstant(universe_, equation_.leaves[value])
               ? "o" + std::to_string(value)
               : kVariables[variable];
  }
  return value == sketch.result ? "s" : "s" + std::to_string(value - leaves);
}

void Generalizer::addVariables(const Names &names, Rule &rule) const {
  std::vector<bool> isUsed(size_t(count_), false);
  for (size_t leaf = 0; leaf != equation_.leaves.size(); ++leaf) {
    for (int name : names[leaf]) {
      if (name >= 0) {
        isUsed[size_t(name)] = true;
      }
    }
    if (isConstant(universe_, equation_.leaves[leaf])) {
      continue;
    }
    Variable variable;
    variable.name = valueName(equation_.source, leaf);
    variable.type = {"float", itemsOf(names, leaf), {}};
    rule.variables.push_back(std::move(variable));
  }
  for (int name = 0; name != count_; ++name) {
    if (isUsed[size_t(name)]) {
      (isShape_[size_t(name)] ? rule.shapes : rule.sizes)
          .push_back(nameOf(name));
    }
  }
}

/// Sizes that differ from each other and from all extents of vocabularies.
std::optional<Assignment> Generalizer::draw(const Rule &rule,
                                            const Ranks &ranks) {
  std::vector<int64_t> pool = {5,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                               16, 17, 19, 20, 21, 22, 23, 24, 25};
  size_t count = rule.sizes.size();
  for (const auto &[shape, rank] : ranks) {
    count += rank;
  }
  if (count > pool.size()) {
    return std::nullopt;
  }
  pool.resize(count + 2);
  std::shuffle(pool.begin(), pool.end(), random_);
  Assignment result;
  size_t next = 0;
  for (const std::string &size : rule.sizes) {
    result.numbers[size] = pool[next++];
  }
  for (const std::string &shape : rule.shapes) {
    result.shapes[shape];
    for (size_t i = 0; i != ranks.at(shape); ++i) {
      result.shapes[shape].push_back(pool[next++]);
    }
  }
  for (const std::string &number : rule.ints) {
    result.numbers[number] = int64_t(1 + random_() % 4);
  }
  return result;
}

/// An extent that no sum of names is: no attribute may speak of it.
static Item unknownItem() { return {numberExpr(-1), {}, {}}; }
static bool isUnknown(const Item &item) {
  return item.shape.empty() && item.value.kind == Expr::Kind::Number &&
         item.value.value < 0;
}

/// The extents of a value, by samples.
std::optional<Items> Generalizer::dimsOf(const Rule &rule, const Graph &side,
                                         const std::string &value) {
  if (const Variable *variable = rule.findVariable(value)) {
    return variable->type.shape;
  }
  Graph part = side;
  part.results = {value};
  std::vector<std::string> symbols = rule.sizes;
  symbols.insert(symbols.end(), rule.shapes.begin(), rule.shapes.end());
  symbols.insert(symbols.end(), rule.ints.begin(), rule.ints.end());
  Ranks ranks;
  for (const std::string &shape : rule.shapes) {
    ranks[shape] = 1;
  }
  std::vector<std::vector<int64_t>> points, extents;
  TypeChoice types{{"float", rt::DType::Field}};
  for (size_t i = 0; i != 4 * symbols.size() + 8; ++i) {
    auto assignment = draw(rule, ranks);
    auto variables = Instantiator::variables(rule, *assignment, types);
    auto made =
        instantiator_.instantiate(rule, part, *variables, *assignment, types);
    if (!made) {
      continue;
    }
    points.push_back({1});
    for (const std::string &symbol : symbols) {
      auto shape = assignment->shapes.find(symbol);
      points.back().push_back(shape != assignment->shapes.end()
                                  ? shape->second[0]
                                  : assignment->numbers.at(symbol));
    }
    extents.push_back(
        made->calls[made->results[0] - variables->size()].result.dims);
  }
  if (points.size() < symbols.size() + 2) {
    return std::nullopt;
  }
  Items items;
  for (size_t dim = 0; dim != extents[0].size(); ++dim) {
    std::vector<int64_t> values;
    for (const auto &each : extents) {
      values.push_back(each[dim]);
    }
    auto coefficients = fitLinear(points, values);
    if (!coefficients) {
      items.push_back(unknownItem());
      continue;
    }
    Expr extent = linearForm(*coefficients, symbols);
    bool isShape = extent.kind == Expr::Kind::Name && ranks.count(extent.name);
    items.push_back(isShape ? Item{{}, {}, extent.name}
                            : Item{std::move(extent), {}, {}});
  }
  return items;
}

/// Where an extent is cut: behind the first of what was joined, or anywhere.
std::optional<Expr> Generalizer::cutOf(const Expr &extent, bool isLast,
                                       Rule &rule) const {
  if (extent.kind == Expr::Kind::Number) {
    return numberExpr(extent.value / 2);
  }
  if (extent.kind == Expr::Kind::Mul) {
    return extent.operands[1];
  }
  if (extent.kind == Expr::Kind::Add) {
    const Expr *first = &extent;
    while (first->kind == Expr::Kind::Add) {
      first = &first->operands[isLast ? 1 : 0];
    }
    return *first;
  }
  std::string name = "cut" + extent.name;
  if (std::find(rule.ints.begin(), rule.ints.end(), name) == rule.ints.end()) {
    rule.ints.push_back(name);
    rule.conditions.push_back(
        {numberExpr(1), Relation::Le, nameExpr(name), {}, {}});
    rule.conditions.push_back({nameExpr(name), Relation::Lt, extent, {}, {}});
  }
  return nameExpr(name);
}

bool Generalizer::addSide(const Sketch &sketch, unsigned choice,
                          const Names &names, Rule &rule, Graph &side) {
  size_t leaves = equation_.leaves.size();
  auto add = [&](Node node, size_t value) {
    node.name = valueName(sketch, value);
    side.nodes.push_back(std::move(node));
  };
  std::vector<bool> isUsed(leaves, false);
  for (const Step &step : sketch.steps) {
    for (size_t operand : step.operands) {
      if (operand < leaves) {
        isUsed[operand] = true;
      }
    }
  }
  for (size_t leaf = 0; leaf != leaves; ++leaf) {
    uint32_t graph = equation_.leaves[leaf];
    if (isConstant(universe_, graph) &&
        (isUsed[leaf] || sketch.result == leaf)) {
      Node node;
      const Term &term = universe_.graphs()[graph].term;
      node.element =
          *universe_.vocabulary().leaves[universe_.leafOf(term.a)].element;
      node.type = TensorType{"float", itemsOf(names, leaf), {}};
      add(std::move(node), leaf);
    }
  }
  for (size_t i = 0; i != sketch.steps.size(); ++i) {
    const Step &step = sketch.steps[i];
    const TableOperator &op = universe_.vocabulary().operators[step.op];
    std::vector<Items> dims;
    std::optional<Expr> cut;
    for (size_t operand : step.operands) {
      auto found = dimsOf(rule, side, valueName(sketch, operand));
      if (!found) {
        return false;
      }
      dims.push_back(std::move(*found));
    }
    if (op.extra != Extra::None &&
        std::any_of(dims[0].begin(), dims[0].end(), isUnknown)) {
      return false;
    }
    if (op.extra == Extra::FirstPart || op.extra == Extra::SecondPart) {
      const Item &item = dims[0][op.axis];
      cut = item.shape.empty() ? cutOf(item.value, (choice >> i & 1) != 0, rule)
                               : std::nullopt;
      if (!cut) {
        return false;
      }
    }
    std::optional<Node> node = nodeOf(op, dims, cut);
    if (!node) {
      return false;
    }
    for (size_t operand : step.operands) {
      node->operands.push_back(valueName(sketch, operand));
    }
    add(std::move(*node), leaves + i);
  }
  side.results = {valueName(sketch, sketch.result)};
  return true;
}

std::optional<Rule> Generalizer::build(const Names &names, unsigned choice) {
  Rule rule;
  rule.isGenerated = true;
  rule.numericClass = NumericClass::BitExact;
  addVariables(names, rule);
  if (!addSide(equation_.source, choice, names, rule, rule.source) ||
      !addSide(equation_.target, choice, names, rule, rule.target)) {
    return std::nullopt;
  }
  return rule;
}
