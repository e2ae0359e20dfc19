//===- Algebra.h - Functions and folds of terms -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_ELEMENTS_ALGEBRA_H
#define DIVISI_LIB_PROVE_ELEMENTS_ALGEBRA_H

#include "lib/Prove/Elements/Terms.h"

namespace divisi::rewrite {

/// The factors that are in all terms of all sums, outside of any fold; unless
/// `anySign`, those above 0.
std::vector<FactorRef> commonFactors(const std::vector<Sum> &sums,
                                     bool anySign);
/// A sum without factors that all its terms have.
Sum withoutFactors(const Sum &sum, const std::vector<FactorRef> &factors);
/// The largest fraction of which all coefficients are multiples.
Fraction commonCoefficient(const std::vector<Sum> &sums);
/// Operands that are this function themselves are replaced by theirs; equal
/// ones go.
std::vector<Sum> flatten(const std::string &name,
                         const std::vector<Sum> &operands, bool isIdempotent);
/// The terms that all of `sums` have, with equal coefficients.
Sum commonTerms(const std::vector<Sum> &sums);
/// What a sum is the largest of, if it is the largest of several and terms that
/// are added to each; else itself.
std::vector<Sum> largestOperands(const Sum &sum);
/// Whether it is above 0 everywhere.
bool isPositive(const Factor &factor);
/// Of an extent that is a sum of products of what is 1 or more.
bool isPositive(const Polynomial &extent);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_ELEMENTS_ALGEBRA_H
