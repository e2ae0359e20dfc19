//===- ScalarFunctions.h - Functions of scalars -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Properties of functions that are no sums or products: which are odd, even,
// increasing or integral; bits of integers; what casts preserve.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_SCALARFUNCTIONS_H
#define DIVISI_LIB_PROVE_ELEMENTS_SCALARFUNCTIONS_H

#include "lib/Prove/Elements/Terms.h"

#include <optional>

namespace divisi::rewrite {

/// What a function is called of numbers of that type.
std::string typedName(const std::string &op, const std::string &from);

/// The function of that name of a number of type `from`, which is a float type
/// or `float`, as the result is; nothing where it is only a function.
std::optional<Sum> realFunction(const std::string &op, const std::string &from,
                                const Sum &x);

/// `and`, `or`, `xor` or `not` of the bits of integers of that type; nothing if
/// it is of too many of them. Equal ones are equal sums.
std::optional<Sum> bitsOf(const std::string &op, const std::string &type,
                          const std::vector<Sum> &x);

/// The least and the largest integer of a type, or those that all of `int`
/// have; of 64 bits those of 63. Nothing of other types.
std::optional<std::pair<int64_t, int64_t>> integersOf(const std::string &type);
/// The integers between which a factor is, if it comes from a narrower type
/// than it has.
std::optional<std::pair<int64_t, int64_t>> rangeOf(const Factor &factor);

/// A cast between different types, as operators name them.
Sum castOf(const std::string &from, const std::string &to, const Sum &x);

/// The absolute value of integers with signs; nothing of others. That of the
/// least number is itself, as is its negative.
std::optional<Sum> absoluteOf(const std::string &type, const Sum &x);

/// The larger of two integers of that type, or the smaller, if that is what a
/// choice by `condition` takes.
std::optional<Sum> choiceOfLarger(const std::string &type, const Sum &condition,
                                  const Sum &holds, const Sum &otherwise);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_SCALARFUNCTIONS_H
