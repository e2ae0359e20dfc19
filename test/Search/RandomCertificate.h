//===- RandomCertificate.h - Valid certificates by chance -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any prices, potentials and splits make a valid certificate, of a good bound
// or a poor one, so chance makes them; steps are those that happen to be
// justified.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_RANDOMCERTIFICATE_H
#define DIVISI_TEST_SEARCH_RANDOMCERTIFICATE_H

#include "divisi/Search/Problem.h"

#include <random>

namespace divisi::search {

class Chance {
public:
  explicit Chance(unsigned seed) : random_(seed) {}
  unsigned below(unsigned bound) { return unsigned(random_() % bound); }
  int between(int low, int high) {
    return int(low + int64_t(below(unsigned(high) - unsigned(low) + 1)));
  }
  bool oneIn(unsigned count) { return below(count) == 0; }

private:
  std::mt19937 random_;
};

/// A few nodes of few strategies: edges inside a node, parallel ones, memory of
/// edges, infeasible costs, empty lifetimes, costs below zero.
Problem randomProblem(Chance &chance);

/// The cheapest assignment within the limit, by trying all of them.
std::optional<Solution> cheapest(const Problem &problem);

struct RandomCertificate {
  Certificate certificate;
  std::optional<Wide> bound; ///< What it proves; nothing: infinite.
};

/// `around`: near which a cutoff may lie.
RandomCertificate randomCertificate(Chance &chance, const Problem &problem,
                                    Wide around);

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_RANDOMCERTIFICATE_H
