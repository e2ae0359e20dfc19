//===- CertificateReference.h - Brute-force bounds --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A second implementation of what divisi/Search/Certificate.h says, as slow and
// as literal as can be: whatever it needs it looks up by a loop over all nodes
// and edges.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_CERTIFICATEREFERENCE_H
#define DIVISI_TEST_SEARCH_CERTIFICATEREFERENCE_H

#include "divisi/Search/Problem.h"

#include <map>
#include <set>

namespace divisi::search {

/// Values of a certificate are in units of 2^-unitBits.
int unitBits(const Certificate &certificate);

/// `least` = min(least, value); nothing is infinite.
void keepLess(std::optional<Wide> &least, std::optional<Wide> value);

/// The problem as steps change it, naively.
class CertificateReference {
public:
  /// Every node for itself. `problem` must outlive this.
  explicit CertificateReference(const Problem &problem);

  /// Whether `step` follows from the problem as it is now.
  bool justifies(const Deduction &step) const;
  /// Changes the problem by `step`, which is justified.
  void take(const Deduction &step);

  /// Variables by number; the states of each; what members take in them.
  using States = std::map<uint32_t, std::map<uint32_t, uint32_t>>;
  /// The states that each variable still has.
  const std::map<uint32_t, States> &variables() const { return variables_; }
  /// Those that have potentials, in order.
  std::vector<std::pair<uint32_t, uint32_t>> pairs() const;

  /// The states of a node of the tree.
  using Alive = std::map<uint32_t, std::set<uint32_t>>;
  /// All that is feasible by itself.
  Alive all() const;
  /// In units of 2^-max(priceBits, 0); nothing: infinite.
  std::optional<Wide> value(const Certificate &certificate,
                            const BoundNode &node, const Alive &alive) const;
  /// Takes from `alive` what some pair leaves without partner.
  void makeConsistent(Alive &alive) const;
  /// Takes from `alive` what `node` of value `value` fixes.
  void fix(const Certificate &certificate, const BoundNode &node,
           std::optional<Wide> value, Alive &alive) const;

private:
  bool goTogether(uint32_t v, uint32_t s, uint32_t w, uint32_t t) const;
  bool isInfeasible(uint32_t v, uint32_t s) const;
  bool isFixed(uint32_t v) const { return variables_.at(v).size() == 1; }
  std::optional<Wide> term(const Certificate &certificate,
                           const BoundNode &node, uint32_t v, uint32_t s) const;
  std::optional<Wide> entry(const Certificate &certificate,
                            const BoundNode &node, uint32_t u, uint32_t s,
                            uint32_t v, uint32_t t) const;
  /// In units, of pair `pair`, of its first end or second.
  Wide potential(const Certificate &certificate, const BoundNode &node,
                 size_t pair, bool second, uint32_t state) const;

  const Problem &problem_;
  std::map<uint32_t, std::set<uint32_t>> members_; ///< Of each variable.
  std::map<uint32_t, States> variables_;
};

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_CERTIFICATEREFERENCE_H
