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

static uint32_t addMatrix(Chance &chance, Problem &problem, uint32_t from,
                          uint32_t to, unsigned kind) {
  Matrix matrix;
  matrix.rows = uint32_t(problem.nodes[from].costs.size());
  matrix.columns = uint32_t(problem.nodes[to].costs.size());
  for (uint32_t s = 0; s != matrix.rows; ++s) {
    for (uint32_t t = 0; t != matrix.columns; ++t) {
      // Kind 0 is memory, 1 a permutation (followers need one), 2 any cost.
      bool allowed = kind == 1 ? (s + 1) % matrix.columns == t
                               : kind == 0 || !chance.oneIn(7);
      matrix.entries.push_back(allowed ? chance.between(kind == 0 ? 0 : -3, 20)
                                       : kInfeasible);
    }
  }
  problem.matrices.push_back(std::move(matrix));
  return uint32_t(problem.matrices.size() - 1);
}

Problem randomProblem(Chance &chance) {
  Problem problem;
  for (unsigned i = 0, count = 1 + chance.below(6); i != count; ++i) {
    Node &node = problem.nodes.emplace_back();
    int64_t begin = chance.between(0, 7);
    node.live = {begin, begin + chance.between(0, 5)};
    for (unsigned s = 0, states = 1 + chance.below(3); s != states; ++s) {
      node.costs.push_back(chance.oneIn(10) ? kInfeasible
                                            : chance.between(-5, 20));
      node.usages.push_back(chance.between(0, 9));
    }
  }
  unsigned count = unsigned(problem.nodes.size());
  for (unsigned e = 0, edges = chance.below(9); e != edges; ++e) {
    Edge edge;
    edge.from = chance.below(count);
    edge.to = chance.below(count);
    edge.costs =
        addMatrix(chance, problem, edge.from, edge.to, 1 + chance.below(2));
    if (edge.from != edge.to && chance.oneIn(3)) {
      edge.usages = addMatrix(chance, problem, edge.from, edge.to, 0);
      edge.live.begin = chance.between(0, 7);
      edge.live.end = edge.live.begin + chance.between(0, 3);
    }
    problem.edges.push_back(edge);
  }
  if (!chance.oneIn(4)) {
    problem.usageLimit = chance.between(0, 25);
  }
  return problem;
}

std::optional<Solution> cheapest(const Problem &problem) {
  std::optional<Solution> best;
  std::vector<uint32_t> assignment(problem.nodes.size(), 0);
  while (true) {
    Solution solution = evaluate(problem, assignment);
    bool allowed = !problem.usageLimit || solution.peak <= *problem.usageLimit;
    // Nothing feasible comes near one infeasible cost, however many there are.
    if (allowed && solution.cost < kInfeasible / 2 &&
        (!best || solution.cost < best->cost)) {
      best = solution;
    }
    size_t i = 0;
    while (i != assignment.size() &&
           ++assignment[i] == problem.nodes[i].costs.size()) {
      assignment[i++] = 0;
    }
    if (i == assignment.size()) {
      return best;
    }
  }
}

static std::vector<Deduction>
randomSteps(Chance &chance, const Problem &problem, Reference &reference) {
  std::vector<Deduction> deductions;
  unsigned count = unsigned(problem.nodes.size());
  for (unsigned tries = chance.below(60); tries != 0; --tries) {
    Deduction deduction;
    deduction.kind =
        chance.oneIn(2) ? Deduction::Kind::Drop : Deduction::Kind::Follow;
    deduction.variable = chance.below(count);
    deduction.other = chance.below(count);
    if (deduction.kind == Deduction::Kind::Drop) {
      deduction.state = chance.below(3);
    }
    if (reference.justifies(deduction)) {
      reference.take(deduction);
      deductions.push_back(deduction);
    }
  }
  return deductions;
}

static void makeBound(Chance &chance, const Problem &problem,
                      const Certificate &certificate,
                      const Reference &reference, BoundNode &node) {
  node.bounds = true;
  node.fixes = certificate.cutoff && chance.oneIn(2);
  for (int64_t time = 0; problem.usageLimit && time != 8; ++time) {
    if (chance.oneIn(4)) {
      int most = certificate.priceBits > 0 ? 2 << certificate.priceBits : 2;
      node.prices.push_back({time, chance.between(0, most)});
    }
  }
  int most = certificate.potentialBits > 0 ? 6 << certificate.potentialBits : 4;
  for (auto [u, v] : reference.pairs()) {
    size_t both =
        reference.variables().at(u).size() + reference.variables().at(v).size();
    for (size_t i = 0; i != both; ++i) {
      node.potentials.push_back(chance.between(-most, most));
    }
  }
}

namespace {
/// Grows a tree and values it as it goes.
struct Tree {
  Chance &chance;
  const Problem &problem;
  const Reference &reference;
  Certificate certificate;
  std::optional<Wide> least = std::nullopt; ///< Of the leaves so far.

  /// `value`: of the nearest ancestor; its own optional is for infinity.
  void grow(BoundNode node, Reference::Alive alive,
            std::optional<std::optional<Wide>> value, unsigned depth) {
    int32_t index = int32_t(certificate.tree.size());
    reference.makeConsistent(alive);
    bool splits = depth < 3 && !chance.oneIn(3);
    if (chance.oneIn(2) || (!splits && !value)) {
      makeBound(chance, problem, certificate, reference, node);
      value = reference.value(certificate, node, alive);
      if (node.fixes) {
        reference.fix(certificate, node, *value, alive);
        reference.makeConsistent(alive);
      }
    }
    auto by = alive.begin();
    std::advance(by, chance.below(unsigned(alive.size())));
    splits &= !by->second.empty();
    if (!splits && !value) {
      makeBound(chance, problem, certificate, reference, node);
      value = reference.value(certificate, node, alive);
    }
    certificate.tree.push_back(std::move(node));
    if (!splits) {
      keepLess(least, *value);
      return;
    }
    std::map<unsigned, std::set<uint32_t>> parts;
    for (uint32_t state : by->second) {
      parts[chance.below(2)].insert(state);
    }
    for (const auto &[part, states] : parts) {
      BoundNode child;
      child.parent = index;
      child.variable = by->first;
      child.kept.assign(states.begin(), states.end());
      Reference::Alive rest = alive;
      rest[by->first] = states;
      grow(std::move(child), std::move(rest), value, depth + 1);
    }
  }
};
} // namespace

RandomCertificate randomCertificate(Chance &chance, const Problem &problem,
                                    Wide around) {
  Reference reference(problem);
  Tree tree{chance, problem, reference, {}};
  Certificate &certificate = tree.certificate;
  certificate.deductions = randomSteps(chance, problem, reference);
  certificate.priceBits = chance.between(-1, 4);
  certificate.potentialBits = chance.between(-2, certificate.priceBits);
  if (chance.oneIn(2)) {
    certificate.cutoff = around + chance.between(-5, 3);
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

} // namespace divisi::search
