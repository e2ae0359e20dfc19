//===- RandomCertificate.cpp - Valid certificates by chance ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCertificate.h"
#include "CertificateReference.h"

#include <algorithm>

namespace divisi::search {

static std::vector<Deduction>
randomDeductions(Dice &dice, const Problem &problem,
                 CertificateReference &reference) {
  std::vector<Deduction> deductions;
  unsigned count = unsigned(problem.nodes.size());
  for (unsigned tries = dice.below(60u); tries != 0; --tries) {
    Deduction deduction;
    deduction.kind =
        dice.oneIn(2) ? Deduction::Kind::Drop : Deduction::Kind::Follow;
    deduction.variable = dice.below(count);
    deduction.other = dice.below(count);
    if (deduction.kind == Deduction::Kind::Drop) {
      deduction.state = dice.below(3u);
    }
    if (reference.justifies(deduction)) {
      reference.take(deduction);
      deductions.push_back(deduction);
    }
  }
  return deductions;
}

static void makeBound(Dice &dice, const Problem &problem,
                      const Certificate &certificate,
                      const CertificateReference &reference, BoundNode &node) {
  node.bounds = true;
  node.fixes = certificate.cutoff && dice.oneIn(2);
  for (uint32_t r = 0; r != problem.numResources(); ++r) {
    for (int64_t time = 0; problem.limitOf(r) && time != 8; ++time) {
      if (dice.oneIn(4)) {
        int most = certificate.priceBits > 0 ? 2 << certificate.priceBits : 2;
        node.prices.push_back({time, dice.between(0, most), r});
      }
    }
  }
  int most = certificate.potentialBits > 0 ? 6 << certificate.potentialBits : 4;
  for (auto [u, v] : reference.pairs()) {
    size_t both =
        reference.variables().at(u).size() + reference.variables().at(v).size();
    for (size_t i = 0; i != both; ++i) {
      node.potentials.push_back(dice.between(-most, most));
    }
  }
}

namespace {
/// Grows a tree and values it as it goes.
struct Tree {
  Dice &dice;
  const Problem &problem;
  const CertificateReference &reference;
  Certificate certificate;
  std::optional<Wide> least = std::nullopt; ///< Of the leaves so far.

  /// `value`: of the nearest ancestor; its own optional is for infinity.
  void grow(BoundNode node, CertificateReference::Alive alive,
            std::optional<std::optional<Wide>> value, unsigned depth) {
    int32_t index = int32_t(certificate.tree.size());
    reference.makeConsistent(alive);
    bool splits = depth < 3 && !dice.oneIn(3);
    if (dice.oneIn(2) || (!splits && !value)) {
      makeBound(dice, problem, certificate, reference, node);
      value = reference.value(certificate, node, alive);
      if (node.fixes) {
        reference.fix(certificate, node, *value, alive);
        reference.makeConsistent(alive);
      }
    }
    auto by = alive.begin();
    std::advance(by, dice.below(unsigned(alive.size())));
    splits &= !by->second.empty();
    if (!splits && !value) {
      makeBound(dice, problem, certificate, reference, node);
      value = reference.value(certificate, node, alive);
    }
    certificate.tree.push_back(std::move(node));
    if (!splits) {
      keepLess(least, *value);
      return;
    }
    std::map<unsigned, std::set<uint32_t>> parts;
    for (uint32_t state : by->second) {
      parts[dice.below(2u)].insert(state);
    }
    for (const auto &[part, states] : parts) {
      BoundNode child;
      child.parent = index;
      child.variable = by->first;
      child.kept.assign(states.begin(), states.end());
      CertificateReference::Alive rest = alive;
      rest[by->first] = states;
      grow(std::move(child), std::move(rest), value, depth + 1);
    }
  }
};
} // namespace

RandomCertificate randomCertificate(Dice &dice, const Problem &problem,
                                    Wide around) {
  CertificateReference reference(problem);
  Tree tree{dice, problem, reference, {}};
  Certificate &certificate = tree.certificate;
  certificate.deductions = randomDeductions(dice, problem, reference);
  certificate.priceBits = dice.between(-1, 4);
  certificate.potentialBits = dice.between(-2, certificate.priceBits);
  if (dice.oneIn(2)) {
    certificate.cutoff = around + dice.between(-5, 3);
  }
  tree.grow({}, reference.all(), std::nullopt, 0);
  RandomCertificate out{std::move(certificate), std::nullopt};
  int bits = unitBits(out.certificate);
  if (tree.least) {
    Wide unit = Wide(1) << bits, bound = *tree.least / unit;
    out.bound = bound + (bound * unit < *tree.least ? 1 : 0);
  }
  if (out.certificate.cutoff) {
    keepLess(out.bound, out.certificate.cutoff);
  }
  return out;
}

/// So few that the reference, which is slow, has to look at.
static constexpr uint64_t kAssignments = 200;

CertifiedCase::CertifiedCase(uint64_t seed)
    : dice(seed), problem(limitedProblem(seed, kAssignments, seed % 2 == 1)),
      best(cheapest(problem)) {
  made = randomCertificate(dice, problem, best ? best->cost : 10);
  if (best && made.bound) {
    best->certificate = made.certificate;
    best->lowerBound = *made.bound;
  }
}

} // namespace divisi::search
