//===- NaryForms.cpp - Operators of any number of terms -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Optimize/NaryForms.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;
using namespace divisi::optimize;
using mlir::Operation;
using mlir::Value;

/// More terms than that are left as they are.
static constexpr size_t kMostTerms = 5;

NaryForms::NaryForms(EGraph &graph,
                     const std::vector<rewrite::ProvedRule> &rules)
    : graph_(graph) {
  for (auto [number, proved] : llvm::enumerate(rules)) {
    for (auto [name, place] : {std::pair("associate-sums", &sums_),
                               std::pair("associate-products", &products_),
                               std::pair("join-of-parts", &wholes_),
                               std::pair("parts-of-joined", &parts_)}) {
      if (proved.rule.name == name && proved.file.empty()) {
        *place = number;
      }
    }
  }
}

/// Makes nodes of what was built, which computes the same as `node`; whether
/// that is new.
bool NaryForms::take(rewrite::BuiltTarget built, Operation *node, size_t rule) {
  return graph_.addTarget(std::move(built), {rule, {node->getLoc()}, {node}},
                          node->getResult(0));
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

/// Adds the terms of a value, itself if no such operator makes it.
void NaryForms::addTerms(Value value, llvm::StringRef name,
                         Values &terms) const {
  llvm::ArrayRef<Operation *> nodes = graph_.nodesOf(value);
  auto at = llvm::find_if(nodes, [&](Operation *node) {
    return node->getName().getStringRef() == name;
  });
  if (at == nodes.end() || terms.size() > kMostTerms) {
    terms.push_back(graph_.classOf(value));
    return;
  }
  for (Value operand : (*at)->getOperands()) {
    addTerms(operand, name, terms);
  }
}

template <typename Op>
Value NaryForms::chain(mlir::OpBuilder &builder, mlir::Location location,
                       llvm::ArrayRef<Value> terms,
                       rewrite::BuiltTarget &built) {
  Value sum = terms.front();
  for (Value term : terms.drop_front()) {
    auto op = Op::create(builder, location, sum, term);
    built.operators.push_back(op);
    sum = op;
  }
  return sum;
}

template <typename Op>
void NaryForms::addForms(Operation *node, Values terms, size_t rule) {
  mlir::OpBuilder builder = graph_.end();
  rewrite::BuiltTarget whole;
  whole.results = {chain<Op>(builder, node->getLoc(), terms, whole)};
  take(std::move(whole), node, rule);
  for (size_t i = 0; i != terms.size(); ++i) {
    for (size_t j = i + 1; j != terms.size(); ++j) {
      Values others{terms[i], terms[j]}, rest;
      for (size_t k = 0; k != terms.size(); ++k) {
        if (k != i && k != j) {
          rest.push_back(terms[k]);
        }
      }
      rewrite::BuiltTarget built;
      Value pair = chain<Op>(builder, node->getLoc(), others, built);
      Value tail = chain<Op>(builder, node->getLoc(), rest, built);
      built.results = {
          chain<Op>(builder, node->getLoc(), Values{pair, tail}, built)};
      take(std::move(built), node, rule);
    }
  }
}

template <typename Op> bool NaryForms::growSums(std::optional<size_t> rule) {
  bool isGrown = false;
  if (!rule) {
    return false;
  }
  for (Operation *node : graph_.named(Op::getOperationName())) {
    Values terms;
    for (Value operand : node->getOperands()) {
      addTerms(operand, Op::getOperationName(), terms);
    }
    bool isOfThem = terms.size() >= 3 && terms.size() <= kMostTerms &&
                    graph_.countNodes() < most_;
    if (!isOfThem) {
      continue;
    }
    llvm::sort(terms, [&](Value a, Value b) {
      return graph_.numberOf(a) < graph_.numberOf(b);
    });
    std::vector<const void *> key{
        node->getName().getAsOpaquePointer(),
        graph_.classOf(node->getResult(0)).getAsOpaquePointer()};
    for (Value term : terms) {
      key.push_back(term.getAsOpaquePointer());
    }
    if (seen_.insert(std::move(key)).second) {
      addForms<Op>(node, terms, *rule);
      isGrown = true;
    }
  }
  return isGrown;
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

namespace {

/// What follows each other along an axis: a part of a value, or all of it.
struct Part {
  Value value;          ///< A class.
  int64_t begin = 0;    ///< Along the axis.
  int64_t end = 0;      ///< The same.
  bool isSlice = false; ///< Else it is all of the value.
};

} // namespace

static int64_t extent(Value value, int64_t axis) {
  return llvm::cast<mlir::RankedTensorType>(value.getType())
      .getDimSize(unsigned(axis));
}

/// What the slice is a part of, if it leaves out nothing but along `axis`.
static std::optional<Part> partOf(const EGraph &graph, nn::SliceOp slice,
                                  int64_t axis) {
  for (int64_t i = 0; i != int64_t(slice.getStarts().size()); ++i) {
    bool isWhole = slice.getStarts()[size_t(i)] == 0 &&
                   slice.getLimits()[size_t(i)] == extent(slice.getX(), i);
    if (slice.getSteps()[size_t(i)] != 1 || (i != axis && !isWhole)) {
      return std::nullopt;
    }
  }
  return Part{graph.classOf(slice.getX()), slice.getStarts()[size_t(axis)],
              slice.getLimits()[size_t(axis)], true};
}

/// Adds the parts of one operand of a concatenation.
static void addParts(const EGraph &graph, Value operand, int64_t axis,
                     std::vector<Part> &parts) {
  for (Operation *node : graph.nodesOf(operand)) {
    if (auto inner = llvm::dyn_cast<nn::ConcatOp>(node);
        inner && int64_t(inner.getAxis()) == axis) {
      for (Value value : inner.getXs()) {
        addParts(graph, value, axis, parts);
      }
      return;
    }
  }
  for (Operation *node : graph.nodesOf(operand)) {
    auto slice = llvm::dyn_cast<nn::SliceOp>(node);
    auto part = slice ? partOf(graph, slice, axis) : std::nullopt;
    if (part) {
      bool follows = !parts.empty() && parts.back().isSlice &&
                     parts.back().value == part->value &&
                     parts.back().end == part->begin;
      if (follows) {
        parts.back().end = part->end;
      } else {
        parts.push_back(*part);
      }
      return;
    }
  }
  parts.push_back({graph.classOf(operand), 0, extent(operand, axis), false});
}

/// Adds the form of a concatenation without what is apart for nothing.
bool NaryForms::joinParts(nn::ConcatOp concat) {
  int64_t axis = int64_t(concat.getAxis());
  std::vector<Part> parts;
  for (Value operand : concat.getXs()) {
    addParts(graph_, operand, axis, parts);
  }
  rewrite::BuiltTarget built;
  mlir::OpBuilder builder = graph_.end();
  Values values;
  for (const Part &part : parts) {
    if (!part.isSlice || part.end - part.begin == extent(part.value, axis)) {
      values.push_back(part.value);
      continue;
    }
    auto type = llvm::cast<mlir::RankedTensorType>(part.value.getType());
    llvm::SmallVector<int64_t> starts(size_t(type.getRank()), 0),
        limits(type.getShape()), steps(size_t(type.getRank()), 1);
    starts[size_t(axis)] = part.begin;
    limits[size_t(axis)] = part.end;
    auto slice = nn::SliceOp::create(builder, concat.getLoc(), part.value,
                                     starts, limits, steps);
    built.operators.push_back(slice);
    values.push_back(slice);
  }
  if (values.size() == 1) {
    built.results = {values.front()};
  } else {
    auto joined = nn::ConcatOp::create(builder, concat.getLoc(), values, axis);
    built.operators.push_back(joined);
    built.results = {joined};
  }
  return take(std::move(built), concat, *wholes_);
}

/// Adds what a part of a concatenation is, if it cuts through no operand.
bool NaryForms::takeParts(nn::SliceOp slice) {
  for (Operation *node : graph_.nodesOf(slice.getX())) {
    auto concat = llvm::dyn_cast<nn::ConcatOp>(node);
    int64_t axis = concat ? int64_t(concat.getAxis()) : 0;
    auto part = concat ? partOf(graph_, slice, axis) : std::nullopt;
    if (!part) {
      continue;
    }
    Values values;
    int64_t at = 0, covered = 0;
    for (Value operand : concat.getXs()) {
      int64_t length = extent(operand, axis);
      if (at >= part->begin && at + length <= part->end) {
        values.push_back(operand);
        covered += length;
      }
      at += length;
    }
    if (values.empty() || covered != part->end - part->begin) {
      continue;
    }
    rewrite::BuiltTarget built;
    mlir::OpBuilder builder = graph_.end();
    if (values.size() == 1) {
      built.results = {values.front()};
    } else {
      auto joined = nn::ConcatOp::create(builder, slice.getLoc(), values, axis);
      built.operators = {joined};
      built.results = {joined};
    }
    return take(std::move(built), slice, *parts_);
  }
  return false;
}

template <typename Op>
bool NaryForms::growMovement(bool (NaryForms::*grow)(Op)) {
  bool isGrown = false;
  for (Operation *node : graph_.named(Op::getOperationName())) {
    if (graph_.countNodes() < most_) {
      isGrown |= (this->*grow)(llvm::cast<Op>(node));
    }
  }
  return isGrown;
}

bool NaryForms::grow(size_t most) {
  most_ = most;
  bool isGrown = parts_ && growMovement(&NaryForms::takeParts);
  isGrown |= wholes_ && growMovement(&NaryForms::joinParts);
  isGrown |= growSums<nn::AddOp>(sums_);
  isGrown |= growSums<nn::MulOp>(products_);
  return isGrown;
}
