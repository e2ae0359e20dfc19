//===- Effort.h - The work of a side ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_EFFORT_H
#define DIVISI_RULES_EFFORT_H

#include "divisi/Rules/Instance.h"
#include "divisi/Rules/ProofRecord.h"

#include <functional>
#include <vector>

namespace divisi::rewrite {

/// Of the values of a side whether they are the same in every run, if `known`
/// says that of the variables.
std::vector<bool> knownValues(const CallGraph &side, std::vector<bool> known);

/// What the operators of a side take in every run; of those that are `kept`, if
/// there are such, nothing.
Effort effortOf(const CallGraph &side, const std::vector<bool> &known,
                const std::vector<bool> &kept = {});

/// Whether `target` takes less than `source` in every run, or as much, but has
/// fewer operators, with those that make what is the same in every run.
bool takesLess(const CallGraph &target, const CallGraph &source,
               const std::vector<bool> &known,
               const std::vector<bool> &kept = {});

/// Calls `visit` with what source and target take in every run, at some sizes
/// at each of the ranks, until it returns false.
void forEfforts(
    const ProvedRule &proved, Instantiator &instantiator,
    const std::function<bool(const Effort &, const Effort &)> &visit);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_EFFORT_H
