//===- MergeRules.h - Rules about two operators, for more -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule that merges two operators of one input, such as products, by joining
// their weights, says what merging eight does: apply it to the first two, to
// what comes of these and the third, and so on; concatenations of
// concatenations are one, and so are slices of slices. mergeOf() writes down
// where that ends. So it is proved where the rule about two is, at whose ranks
// it may be applied; the tests prove it for three and four as well.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_REWRITE_MERGERULES_H
#define DIVISI_REWRITE_MERGERULES_H

#include "divisi/Rules/Rule.h"

#include <cstddef>
#include <optional>

namespace divisi::rewrite {

/// Whether `rule` merges two operators that differ in one operand: its target
/// makes each of the two ready in the same way, concatenates them, and takes
/// each result out of what comes of that.
bool mergesTwo(const Rule &rule);

/// What a merging rule says of `count` operators, at least two: the same
/// variables, but that those which are joined are as many, and last. Where a
/// number differs between the two, it goes on in equal steps. Nothing if `rule`
/// does not merge, or a condition is about what is joined.
std::optional<Rule> mergeOf(const Rule &rule, size_t count);

} // namespace divisi::rewrite

#endif // DIVISI_REWRITE_MERGERULES_H
