//===- CaseSplits.h - Equality by case distinction --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Booleans are numbers, 0 or 1: a choice is a sum of products with them, and a
// function of such a sum is evaluated for each case. A comparison of reals is
// such a boolean. Cases that Z3 finds contradictory are dropped.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_CASESPLITS_H
#define DIVISI_LIB_PROVE_ELEMENTS_CASESPLITS_H

#include "lib/Prove/Elements/Terms.h"

namespace divisi::rewrite {

/// `function` of sums in which no boolean stands, of all cases together.
Sum byCases(const std::vector<Sum> &operands,
            const std::function<Sum(const std::vector<Sum> &)> &function);

/// 1 where it is above 0, else 0.
Sum isAbove(const Sum &sum);

/// What is known of a sum.
struct OrderFact {
  Sum sum;       ///< What it is known of.
  bool isStrict; ///< It is above 0, else 0 or more.
};

/// Whether the sums are equal in all cases that numbers can meet.
bool areEqualByCases(const Sum &left, const Sum &right,
                     std::vector<OrderFact> facts);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_CASESPLITS_H
