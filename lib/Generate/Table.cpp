//===- Table.cpp - Nodes of a table, and the table ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Generate/Table.h"

#include "divisi/Generate/Generate.h"
#include "divisi/Rules/LinearFit.h"
#include "divisi/Rules/RuleText.h"

using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Items divisi::rewrite::listOf(const std::vector<int64_t> &values) {
  Items items;
  for (int64_t value : values) {
    items.push_back({numberExpr(value), {}, {}});
  }
  return items;
}

static Expr binaryExpr(Expr::Kind kind, Expr left, Expr right) {
  Expr result;
  result.kind = kind;
  result.operands = {std::move(left), std::move(right)};
  return result;
}

/// At which dim the item stands.
static Expr dimOf(const Items &dims, size_t at) {
  std::optional<Expr> sum;
  int64_t count = 0;
  for (size_t i = 0; i != at; ++i) {
    if (dims[i].shape.empty()) {
      ++count;
      continue;
    }
    Expr rank;
    rank.kind = Expr::Kind::Rank;
    rank.name = dims[i].shape;
    sum = sum ? binaryExpr(Expr::Kind::Add, std::move(*sum), std::move(rank))
              : std::move(rank);
  }
  if (!sum) {
    return numberExpr(count);
  }
  return count == 0
             ? *sum
             : binaryExpr(Expr::Kind::Add, std::move(*sum), numberExpr(count));
}

/// Counts the dims of a shape.
static constexpr const char *kIndex = "i";

/// `value` for the item, whether it is a dim or a shape.
static Item forEach(const Item &dim, Expr value) {
  return dim.shape.empty() ? Item{std::move(value), {}, {}}
                           : Item{std::move(value), kIndex, dim.shape};
}

/// The dims that the item stands for.
static Item dimsOf(const Items &dims, size_t at) {
  Expr first = dimOf(dims, at);
  if (!dims[at].shape.empty()) {
    bool isZero = first.kind == Expr::Kind::Number && first.value == 0;
    first = isZero ? nameExpr(kIndex)
                   : binaryExpr(Expr::Kind::Add, std::move(first),
                                nameExpr(kIndex));
  }
  return forEach(dims[at], std::move(first));
}

/// `mk,kn->mn` with braces around letters of shapes.
static std::string withShapes(const std::string &labels,
                              const std::vector<Items> &dims) {
  std::string braced[256];
  size_t operand = 0, dim = 0;
  for (char c : labels.substr(0, labels.find("->"))) {
    if (c == ',') {
      ++operand;
      dim = 0;
      continue;
    }
    const std::string &shape = dims[operand][dim++].shape;
    if (!shape.empty()) {
      braced[uint8_t(c)] = "{" + shape + "}";
    }
  }
  std::string text;
  for (char c : labels) {
    const std::string &letter = braced[uint8_t(c)];
    text += letter.empty() ? std::string(1, c) : letter;
  }
  return text;
}

static std::optional<Value> valueOf(const TableAttribute &attribute,
                                    const std::vector<Items> &dims) {
  Items items;
  switch (attribute.reference) {
  case DimReference::None:
    return attribute.value;
  case DimReference::Letters:
    return withShapes(std::get<std::string>(attribute.value), dims);
  case DimReference::Axis:
    if (!dims[0][size_t(attribute.numbers[0])].shape.empty()) {
      return std::nullopt;
    }
    return dimOf(dims[0], size_t(attribute.numbers[0]));
  case DimReference::Axes:
    for (int64_t number : attribute.numbers) {
      items.push_back(dimsOf(dims[0], size_t(number)));
    }
    return items;
  case DimReference::PerDim:
    for (size_t i = 0; i != attribute.numbers.size(); ++i) {
      items.push_back(forEach(dims[0][i], numberExpr(attribute.numbers[i])));
    }
    return items;
  }
  return std::nullopt;
}

/// A part of `dims`, cut at `axis`.
static void addPart(const TableOperator &op, const Items &dims, const Expr &cut,
                    Node &node) {
  Items starts, limits = dims, steps;
  for (const Item &dim : dims) {
    starts.push_back(forEach(dim, numberExpr(0)));
    steps.push_back(forEach(dim, numberExpr(1)));
  }
  (op.extra == Extra::FirstPart ? limits : starts)[op.axis].value = cut;
  node.attributes = {{"starts", starts}, {"limits", limits}, {"steps", steps}};
}

std::optional<Node> divisi::rewrite::nodeOf(const TableOperator &op,
                                            const std::vector<Items> &dims,
                                            const std::optional<Expr> &cut) {
  Node node;
  node.op = op.op;
  for (const TableAttribute &attribute : op.attributes) {
    std::optional<Value> value = valueOf(attribute, dims);
    if (!value) {
      return std::nullopt;
    }
    node.attributes.emplace_back(attribute.name, std::move(*value));
  }
  if (op.extra == Extra::None) {
    return node;
  }
  bool isOneDim =
      dims[0][op.axis].shape.empty() &&
      (op.extra != Extra::Merge || dims[0][op.axis + 1].shape.empty());
  if (!isOneDim) {
    return std::nullopt;
  }
  if (op.extra != Extra::Merge) {
    addPart(op, dims[0], *cut, node);
    return node;
  }
  Items merged = dims[0];
  merged[op.axis].value = binaryExpr(Expr::Kind::Mul, merged[op.axis].value,
                                     merged[op.axis + 1].value);
  merged.erase(merged.begin() + int64_t(op.axis) + 1);
  node.type = TensorType{"float", std::move(merged), {}};
  return node;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string divisi::rewrite::print(const TableOperator &op) {
  std::string text = op.op + "(";
  for (size_t i = 0; i != op.ranks.size(); ++i) {
    text +=
        (i ? ", " : "") + std::string("rank ") + std::to_string(op.ranks[i]);
  }
  text += ")";
  for (const TableAttribute &attribute : op.attributes) {
    bool isOne = attribute.reference == DimReference::Axis;
    Value value = attribute.numbers.empty() ? attribute.value
                  : isOne ? Value(numberExpr(attribute.numbers[0]))
                          : Value(listOf(attribute.numbers));
    text += " " + attribute.name + " = " + printValue(value);
  }
  std::string axis = std::to_string(op.axis);
  switch (op.extra) {
  case Extra::None:
    return text;
  case Extra::FirstPart:
    return text + ", the first part along " + axis;
  case Extra::SecondPart:
    return text + ", the second part along " + axis;
  case Extra::Merge:
    return text + " of dim " + axis + " and the next";
  }
  return text;
}

std::string divisi::rewrite::print(const Leaf &leaf) {
  std::string text = std::to_string(leaf.count) + " of [";
  for (size_t i = 0; i != leaf.dims.size(); ++i) {
    const LeafExtent &extent = leaf.dims[i];
    text += i ? ", " : "";
    text += extent.letter == 0 || extent.factor != 1
                ? std::to_string(extent.factor)
                : "";
    text += extent.letter == 0 ? "" : std::string(1, extent.letter);
  }
  return leaf.element ? text + "], all " + printValue(*leaf.element)
                      : text + "]";
}

std::string divisi::rewrite::printGenerateTable() {
  std::string text;
  for (const Vocabulary &vocabulary : allVocabularies()) {
    text += vocabulary.name + ", up to " + std::to_string(vocabulary.most) +
            " operators\n";
    for (const Leaf &leaf : vocabulary.leaves) {
      text += "  " + print(leaf) + "\n";
    }
    for (const TableOperator &op : vocabulary.operators) {
      text += "  " + print(op) + "\n";
    }
  }
  return text;
}
