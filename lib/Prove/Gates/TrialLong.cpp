//===- TrialLong.cpp - Cases beyond the numbers of a rule -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule that names a number may be true up to it alone: a window of 64, a
// hundredth of an extent. So it is tried with extents behind its numbers, one
// at a time, and where elements have few bits, behind all that they count.
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Gates/Trier.h"

#include <algorithm>
#include <set>

using namespace divisi::rewrite;

/// Numbers below are reached by all draws, and those above by no tensor.
static constexpr int64_t kLeast = 5, kMost = 4096;

static void addNumbers(const Expr &expr, std::set<int64_t> &numbers) {
  if (expr.kind == Expr::Kind::Number && expr.value >= kLeast &&
      expr.value <= kMost) {
    numbers.insert(expr.value);
  }
  for (const Expr &operand : expr.operands) {
    addNumbers(operand, numbers);
  }
}

static void addNumbers(const Items &items, std::set<int64_t> &numbers) {
  for (const Item &item : items) {
    addNumbers(item.value, numbers);
  }
}

static void addNumbers(const Graph &side, std::set<int64_t> &numbers) {
  for (const Node &node : side.nodes) {
    if (node.type) {
      addNumbers(node.type->shape, numbers);
    }
    for (const auto &[name, value] : node.attributes) {
      if (const auto *items = std::get_if<Items>(&value)) {
        addNumbers(*items, numbers);
      } else if (const auto *expr = std::get_if<Expr>(&value)) {
        addNumbers(*expr, numbers);
      }
    }
  }
}

/// As many as elements of a type count, where these are few.
static void addCounts(const Rule &rule, std::set<int64_t> &numbers) {
  constexpr int64_t byte = 256;
  auto isShort = [](const std::string &element) {
    return element == "i8" || element == "u8" || element == "bf16";
  };
  bool hasShort = std::any_of(
      rule.variables.begin(), rule.variables.end(),
      [&](const Variable &each) { return isShort(each.type.element); });
  for (const Graph *side : {&rule.source, &rule.target}) {
    for (const Node &node : side->nodes) {
      hasShort |= node.type && isShort(node.type->element);
    }
  }
  if (hasShort) {
    numbers.insert(byte);
  }
}

void Trier::drawLong(const Ranks &ranks) {
  std::set<int64_t> numbers;
  addNumbers(rule_.source, numbers);
  addNumbers(rule_.target, numbers);
  addCounts(rule_, numbers);
  constexpr size_t mostNumbers = 4;
  while (numbers.size() > mostNumbers) {
    numbers.erase(numbers.begin());
  }
  // A source that is illegal elsewhere says more about why.
  std::string why = whyIllegal_;
  for (int64_t number : numbers) {
    for (const std::string &size : rule_.sizes) {
      auto assignment = draw(rule_, ranks, Draw::Tiny, random_);
      if (!assignment || isRefused()) {
        return;
      }
      assignment->numbers[size] = 2 * number + 3;
      bool isLegal =
          std::all_of(rule_.conditions.begin(), rule_.conditions.end(),
                      [&](const Condition &condition) {
                        return holds(condition, *assignment);
                      });
      if (isLegal) {
        addCase(*assignment);
      }
      whyIllegal_ = why.empty() ? whyIllegal_ : why;
    }
  }
}
