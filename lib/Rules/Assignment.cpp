//===- Assignment.cpp - Values of the names of a rule ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rules/Assignment.h"

#include <algorithm>
#include <memory>

using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::string printList(const std::vector<int64_t> &values) {
  std::string text = "[";
  for (int64_t value : values) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  }
  return text + "]";
}

std::string divisi::rewrite::print(const Assignment &assignment) {
  std::string text;
  auto add = [&](const std::string &name, const std::string &value) {
    text += (text.empty() ? "" : ", ") + name + " = " + value;
  };
  for (const auto &[name, value] : assignment.numbers) {
    add(name, std::to_string(value));
  }
  for (const auto &[name, value] : assignment.shapes) {
    add(name, printList(value));
  }
  for (const auto &[name, value] : assignment.reals) {
    add(name, std::to_string(value));
  }
  return text.empty() ? "no sizes" : text;
}

/// The quotient towards minus infinity.
static std::optional<int64_t> floorDivide(int64_t a, int64_t b) {
  if (b == 0 || b == -1) {
    return b == 0 || a == INT64_MIN ? std::nullopt : std::optional(-a);
  }
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static std::optional<int64_t> combine(Expr::Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
  case Expr::Kind::Add:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt
                                                 : std::optional(result);
  case Expr::Kind::Sub:
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt
                                                 : std::optional(result);
  case Expr::Kind::Mul:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt
                                                 : std::optional(result);
  default:
    return floorDivide(a, b);
  }
}

std::optional<int64_t> divisi::rewrite::evaluate(const Expr &expr,
                                                 const Assignment &assignment) {
  if (expr.kind == Expr::Kind::Number) {
    return expr.value;
  }
  if (expr.kind == Expr::Kind::Name) {
    auto found = assignment.numbers.find(expr.name);
    return found == assignment.numbers.end() ? std::nullopt
                                             : std::optional(found->second);
  }
  std::vector<int64_t> operands;
  for (const Expr &operand : expr.operands) {
    std::optional<int64_t> value = evaluate(operand, assignment);
    if (!value) {
      return std::nullopt;
    }
    operands.push_back(*value);
  }
  if (expr.kind == Expr::Kind::Real) {
    return std::nullopt;
  }
  if (expr.kind == Expr::Kind::Count) {
    int64_t count = 1;
    for (int64_t extent : assignment.shapes.at(expr.name)) {
      if (__builtin_mul_overflow(count, extent, &count)) {
        return std::nullopt;
      }
    }
    return count;
  }
  if (expr.kind == Expr::Kind::Rank || expr.kind == Expr::Kind::Extent) {
    const std::vector<int64_t> &shape = assignment.shapes.at(expr.name);
    if (expr.kind == Expr::Kind::Rank) {
      return int64_t(shape.size());
    }
    bool isIn = operands[0] >= 0 && operands[0] < int64_t(shape.size());
    return isIn ? std::optional(shape[size_t(operands[0])]) : std::nullopt;
  }
  return combine(expr.kind, operands[0], operands[1]);
}

std::optional<std::vector<int64_t>>
divisi::rewrite::evaluate(const Items &items, const Assignment &assignment) {
  std::vector<int64_t> result;
  for (const Item &item : items) {
    if (item.shape.empty()) {
      std::optional<int64_t> value = evaluate(item.value, assignment);
      if (!value) {
        return std::nullopt;
      }
      result.push_back(*value);
      continue;
    }
    const std::vector<int64_t> &shape = assignment.shapes.at(item.shape);
    Assignment inside = assignment;
    for (size_t i = 0; i != shape.size(); ++i) {
      inside.numbers[item.index] = int64_t(i);
      std::optional<int64_t> value =
          item.index.empty() ? shape[i] : evaluate(item.value, inside);
      if (!value) {
        return std::nullopt;
      }
      result.push_back(*value);
    }
  }
  return result;
}

std::optional<double>
divisi::rewrite::evaluateNumber(const Expr &expr,
                                const Assignment &assignment) {
  if (expr.kind == Expr::Kind::Real) {
    return expr.real;
  }
  if (expr.kind == Expr::Kind::Name) {
    auto real = assignment.reals.find(expr.name);
    if (real != assignment.reals.end()) {
      return real->second;
    }
  }
  if (std::optional<int64_t> value = evaluate(expr, assignment)) {
    return double(*value);
  }
  bool isQuotient = expr.kind == Expr::Kind::Div;
  if (!isQuotient && expr.kind != Expr::Kind::Mul) {
    return std::nullopt;
  }
  std::optional<double> left = evaluateNumber(expr.operands[0], assignment);
  std::optional<double> right = evaluateNumber(expr.operands[1], assignment);
  if (!left || !right || (isQuotient && *right == 0)) {
    return std::nullopt;
  }
  return isQuotient ? *left / *right : *left * *right;
}

template <typename T> static bool compares(T left, Relation relation, T right) {
  switch (relation) {
  case Relation::Eq:
    return left == right;
  case Relation::Ne:
    return left != right;
  case Relation::Lt:
    return left < right;
  case Relation::Le:
    return left <= right;
  case Relation::Gt:
    return left > right;
  case Relation::Ge:
    return left >= right;
  case Relation::Broadcasts:
    return left == T(1) || left == right;
  case Relation::Divides:
    break;
  }
  return false;
}

/// The shape of that name, or null.
static const std::vector<int64_t> *findShape(const Expr &expr,
                                             const Assignment &assignment) {
  auto found = assignment.shapes.find(expr.name);
  bool isShape =
      expr.kind == Expr::Kind::Name && found != assignment.shapes.end();
  return isShape ? &found->second : nullptr;
}

bool divisi::rewrite::holds(const Condition &condition,
                            const Assignment &assignment) {
  const auto *shape = findShape(condition.left, assignment);
  const auto *to = findShape(condition.right, assignment);
  if (shape && to) {
    return std::equal(shape->begin(), shape->end(), to->begin(), to->end(),
                      [](int64_t extent, int64_t whole) {
                        return extent == 1 || extent == whole;
                      });
  }
  std::optional<int64_t> left = evaluate(condition.left, assignment);
  std::optional<int64_t> right = evaluate(condition.right, assignment);
  if (left && right) {
    return condition.relation == Relation::Divides
               ? *left > 0 && *right % *left == 0
               : compares(*left, condition.relation, *right);
  }
  std::optional<double> a = evaluateNumber(condition.left, assignment);
  std::optional<double> b = evaluateNumber(condition.right, assignment);
  return a && b && compares(*a, condition.relation, *b);
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

size_t divisi::rewrite::countDims(const TensorType &type, const Ranks &ranks) {
  size_t count = 0;
  for (const Item &item : type.shape) {
    auto rank = ranks.find(item.shape);
    count += item.shape.empty() ? 1 : rank == ranks.end() ? 0 : rank->second;
  }
  return count;
}

/// Whether it has the same value for all extents of the shapes.
static bool isOfRanks(const Expr &expr) {
  return expr.kind != Expr::Kind::Name && expr.kind != Expr::Kind::Extent &&
         expr.kind != Expr::Kind::Count &&
         std::all_of(expr.operands.begin(), expr.operands.end(), isOfRanks);
}

/// Whether the conditions about ranks alone hold.
static bool areLegal(const Rule &rule, const Ranks &ranks) {
  Assignment assignment;
  for (const auto &[shape, rank] : ranks) {
    assignment.shapes[shape].resize(rank);
  }
  return std::all_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const Condition &condition) {
                       if (rule.isOfShapes(condition)) {
                         return ranks.at(condition.left.name) ==
                                ranks.at(condition.right.name);
                       }
                       return !isOfRanks(condition.left) ||
                              !isOfRanks(condition.right) ||
                              holds(condition, assignment);
                     });
}

std::vector<Ranks> divisi::rewrite::allRanks(const Rule &rule) {
  std::vector<Ranks> all(1);
  for (const std::string &shape : rule.shapes) {
    std::vector<Ranks> longer;
    for (const Ranks &ranks : all) {
      for (size_t rank = 0; rank <= kMostDims; ++rank) {
        Ranks more = ranks;
        more[shape] = rank;
        bool fits =
            std::all_of(rule.variables.begin(), rule.variables.end(),
                        [&](const Variable &variable) {
                          return countDims(variable.type, more) <= kMostDims;
                        });
        if (fits) {
          longer.push_back(std::move(more));
        }
      }
    }
    all = std::move(longer);
  }
  std::erase_if(all,
                [&](const Ranks &ranks) { return !areLegal(rule, ranks); });
  return all;
}

/// Gives what broadcasts extents of which it may be.
static void repeat(const Rule &rule, const Condition &condition,
                   Assignment &assignment, std::mt19937_64 &random) {
  auto pick = [&](int64_t whole) { return random() % 2 == 0 ? 1 : whole; };
  std::optional<int64_t> whole = evaluate(condition.right, assignment);
  if (rule.isOfShapes(condition)) {
    auto &extents = assignment.shapes[condition.left.name];
    extents = assignment.shapes[condition.right.name];
    std::transform(extents.begin(), extents.end(), extents.begin(), pick);
  } else if (condition.left.kind == Expr::Kind::Name && whole) {
    assignment.numbers[condition.left.name] = pick(*whole);
  }
}

/// Gives what a condition says alone the value of its other side.
static void follow(const Rule &rule, Assignment &assignment,
                   std::mt19937_64 &random) {
  for (const Condition &condition : rule.conditions) {
    if (condition.relation == Relation::Broadcasts) {
      repeat(rule, condition, assignment, random);
    }
    if (condition.relation != Relation::Eq) {
      continue;
    }
    bool isLeft = condition.left.kind == Expr::Kind::Name;
    const Expr &name = isLeft ? condition.left : condition.right;
    const Expr &other = isLeft ? condition.right : condition.left;
    std::optional<int64_t> value = evaluate(other, assignment);
    if (name.kind == Expr::Kind::Name && value) {
      assignment.numbers[name.name] = *value;
    }
  }
}

/// Whether everything that is said of the names holds.
static bool isLegal(const Rule &rule, const Assignment &assignment) {
  return std::all_of(rule.sizes.begin(), rule.sizes.end(),
                     [&](const std::string &size) {
                       return assignment.numbers.at(size) >= 1;
                     }) &&
         std::all_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const Condition &condition) {
                       return holds(condition, assignment);
                     });
}

/// Extents of that kind, drawn one after the other.
static std::function<int64_t()> extentsOf(Draw kind, size_t count,
                                          std::mt19937_64 &random) {
  if (kind == Draw::Distinct) {
    auto pool = std::make_shared<std::vector<int64_t>>();
    for (size_t i = 0; i != count + 3; ++i) {
      pool->push_back(int64_t(i) + 2);
    }
    std::shuffle(pool->begin(), pool->end(), random);
    return [pool] {
      int64_t extent = pool->back();
      pool->pop_back();
      return extent;
    };
  }
  uint64_t most = kind == Draw::Tiny ? 2 : kind == Draw::Large ? 40 : 4;
  return [most, &random] { return int64_t(1 + random() % most); };
}

std::optional<Assignment> divisi::rewrite::draw(const Rule &rule,
                                                const Ranks &ranks, Draw kind,
                                                std::mt19937_64 &random) {
  constexpr int attempts = 4000;
  size_t count = rule.sizes.size();
  for (const auto &[shape, rank] : ranks) {
    count += rank;
  }
  for (int attempt = 0; attempt != attempts; ++attempt) {
    auto extent = extentsOf(kind, count, random);
    Assignment result;
    for (const std::string &size : rule.sizes) {
      result.numbers[size] = extent();
    }
    for (const std::string &number : rule.ints) {
      result.numbers[number] = kind == Draw::Plain ? int64_t(random() % 3)
                                                   : int64_t(random() % 6) - 1;
    }
    for (const std::string &shape : rule.shapes) {
      for (size_t i = 0; i != ranks.at(shape); ++i) {
        result.shapes[shape].push_back(extent());
      }
      result.shapes[shape];
    }
    for (const std::string &real : rule.reals) {
      result.reals[real] = double(int64_t(random() % 20) - 4) / 8;
    }
    follow(rule, result, random);
    if (isLegal(rule, result)) {
      return result;
    }
  }
  return std::nullopt;
}

void divisi::rewrite::forAll(
    const Rule &rule, const Ranks &ranks, int64_t most,
    const std::function<bool(const Assignment &)> &visit) {
  Assignment assignment;
  // Each number that counts up, and where it begins.
  std::vector<std::pair<int64_t *, int64_t>> digits;
  for (const std::string &size : rule.sizes) {
    digits.emplace_back(&assignment.numbers[size], 1);
  }
  for (const std::string &number : rule.ints) {
    digits.emplace_back(&assignment.numbers[number], -1);
  }
  for (const std::string &shape : rule.shapes) {
    assignment.shapes[shape].resize(ranks.at(shape));
    for (int64_t &extent : assignment.shapes[shape]) {
      digits.emplace_back(&extent, 1);
    }
  }
  for (auto [digit, first] : digits) {
    *digit = first;
  }
  size_t at = 0;
  while (at != digits.size() || digits.empty()) {
    for (double value : {0.5, 1.5, -0.5}) {
      for (const std::string &real : rule.reals) {
        assignment.reals[real] = value;
      }
      if (isLegal(rule, assignment) && !visit(assignment)) {
        return;
      }
      if (rule.reals.empty()) {
        break;
      }
    }
    for (at = 0; at != digits.size(); ++at) {
      auto [digit, first] = digits[at];
      if (++*digit <= most) {
        break;
      }
      *digit = first;
    }
    if (digits.empty()) {
      return;
    }
  }
}
