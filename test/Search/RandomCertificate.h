//===- RandomCertificate.h - Valid certificates by chance -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any prices, potentials and splits make a valid certificate, of a good bound
// or a poor one, so dice make them; deductions are those that happen to be
// justified.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_RANDOMCERTIFICATE_H
#define DIVISI_TEST_SEARCH_RANDOMCERTIFICATE_H

#include "RandomProblems.h"

namespace divisi::search {

/// A certificate and what it proves.
struct RandomCertificate {
  Certificate certificate;   ///< Valid.
  std::optional<Wide> bound; ///< What it proves; nothing: infinite.
};

/// A valid certificate of `problem`; a cutoff, if it has one, is near `around`.
RandomCertificate randomCertificate(Dice &dice, const Problem &problem,
                                    Wide around);

/// Everything that a test of certificates starts from.
struct CertifiedCase {
  /// Another one for each seed; those of odd seeds have more memory.
  explicit CertifiedCase(uint64_t seed);

  Dice dice;       ///< For what else the test draws.
  Problem problem; ///< With a limit, most of them.
  /// Of `problem`, whose cheapest answer may be its cutoff.
  RandomCertificate made;
  /// The cheapest answer with that certificate and bound, if there is one.
  std::optional<Solution> best;
};

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_RANDOMCERTIFICATE_H
