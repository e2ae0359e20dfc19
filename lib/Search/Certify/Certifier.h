//===- Certifier.h - From points of the dual to a certificate ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solvers compute bounds in floating point. A certificate writes the point of
// the dual in integers, coarse enough to be small and fine enough to lose next
// to nothing; what it then proves is computed exactly by provedBound().
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_CERTIFY_CERTIFIER_H
#define DIVISI_LIB_SEARCH_CERTIFY_CERTIFIER_H

#include "lib/Search/Dual/Potentials.h"
#include "lib/Search/Reduction/ReducedGraph.h"

namespace divisi::search {

/// Makes nodes of a certificate from points of the dual.
class Certifier {
public:
  /// `scale` is about what answers cost. All must outlive this.
  Certifier(const Problem &problem, const Reduction &reduction,
            const ReducedGraph &reduced, double scale);

  /// A certificate with the deductions of the reduction and no tree.
  Certificate begin() const;

  /// The prices and potentials of `point`, of the core.
  BoundNode makeNode(const DualPoint &point) const;
  /// The same with `potentials` of the core, whatever the messages.
  BoundNode makeNode(const DualPoint &point,
                     const Potentials &potentials) const;
  /// The same of a `part` of the core; states that it lacks get potentials of
  /// nothing.
  BoundNode makeNode(const DualPoint &point, const SubGraph &part) const;

  /// Of a part for which memory is short, or a domain empty: a price that makes
  /// whatever is left cost more than `cutoff`.
  BoundNode makeInfeasible(const SubGraph &part, double cutoff) const;

  /// A variable of the core, as the certificate calls it.
  uint32_t nodeOf(uint32_t variable) const {
    return reduced_.nodeOf[reduced_.core.variableOf[variable]];
  }
  /// States of it, with those that they replace.
  std::vector<uint32_t> statesOf(uint32_t variable,
                                 const std::vector<uint32_t> &states) const;

private:
  BoundNode makeNode(const CostGraph &graph, const Embedding &where,
                     const DualPoint &point,
                     const Potentials &potentials) const;
  void putRows(const Embedding &where, BoundNode &node) const;
  void putDominated(BoundNode &node) const;
  double priceDuring(const BoundNode &node, const Usage &usage) const;

  const Reduction &reduction_;
  const ReducedGraph &reduced_;
  int32_t priceBits_, potentialBits_;
  /// Pairs of the whole graph in the certificate's order.
  std::vector<uint32_t> order_;
  /// Where the potentials of a pair's first and second variable begin.
  std::vector<uint32_t> firstAt_, secondAt_;
  uint32_t numPotentials_ = 0;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_CERTIFY_CERTIFIER_H
