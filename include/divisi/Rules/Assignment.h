//===- Assignment.h - Values of the names of a rule -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_ASSIGNMENT_H
#define DIVISI_RULES_ASSIGNMENT_H

#include "divisi/Rules/Rule.h"

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace divisi::rewrite {

/// What sizes, shapes, integers and reals of a rule are in one instance of it.
struct Assignment {
  std::map<std::string, int64_t> numbers;             ///< Sizes and integers.
  std::map<std::string, std::vector<int64_t>> shapes; ///< By name.
  std::map<std::string, double> reals;                ///< By name.
};

/// `m = 2, p = [3, 4]`.
std::string print(const Assignment &assignment);

/// The number, real or integer. Nothing where `evaluate` has none.
std::optional<double> evaluateNumber(const Expr &expr,
                                     const Assignment &assignment);

/// The value of an expression; nothing where it divides by 0 or overflows, or
/// where a shape has no such dim.
std::optional<int64_t> evaluate(const Expr &expr, const Assignment &assignment);
/// The same of a list.
std::optional<std::vector<int64_t>> evaluate(const Items &items,
                                             const Assignment &assignment);
/// Whether the condition holds; not if it has no value.
bool holds(const Condition &condition, const Assignment &assignment);

/// How many dims each shape of a rule has.
using Ranks = std::map<std::string, size_t>;

/// How many dims a tensor has; shapes that `ranks` lacks count none.
size_t countDims(const TensorType &type, const Ranks &ranks);

/// A variable of a rule has at most so many dims where it is tried and proved.
inline constexpr size_t kMostDims = 4;

/// All ranks for the shapes of a rule at which no variable has more than
/// kMostDims dims, nor a shape by itself, and all conditions hold that are
/// about ranks alone.
std::vector<Ranks> allRanks(const Rule &rule);

/// How instances are drawn.
enum class Draw : uint8_t {
  Distinct, ///< No two extents are equal, and none is 1.
  Any,      ///< Extents from 1 to 4.
  Tiny,     ///< Extents of 1 and 2.
  Large,    ///< Extents of up to 40.
  Plain,    ///< Extents from 1 to 4, integers from 0 to 2: more are legal.
};

/// An assignment under which all conditions hold, drawn with those ranks.
/// Nothing if many attempts found none. Extents that a condition says to be
/// equal to something are what it says, also where others are distinct.
std::optional<Assignment> draw(const Rule &rule, const Ranks &ranks, Draw kind,
                               std::mt19937_64 &random);

/// Calls `visit` for all assignments with these ranks of extents from 1 to
/// `most` and integers from -1 to `most`, under which all conditions hold;
/// until it returns false. Reals are all 0.5, 1.5 or -0.5.
void forAll(const Rule &rule, const Ranks &ranks, int64_t most,
            const std::function<bool(const Assignment &)> &visit);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_ASSIGNMENT_H
