//===- CertificateReference.cpp - Brute-force bounds ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CertificateReference.h"

#include <algorithm>

namespace divisi::search {

CertificateReference::CertificateReference(const Problem &problem)
    : problem_(problem) {
  for (uint32_t i = 0; i != problem.nodes.size(); ++i) {
    members_[i] = {i};
    for (uint32_t s = 0; s != problem.nodes[i].costs.size(); ++s) {
      variables_[i][s][i] = s;
    }
  }
}

bool CertificateReference::goTogether(uint32_t v, uint32_t s, uint32_t w,
                                      uint32_t t) const {
  const auto &mine = variables_.at(v).at(s), &theirs = variables_.at(w).at(t);
  return std::ranges::none_of(problem_.edges, [&](const Edge &edge) {
    const Matrix &matrix = problem_.matrices[edge.costs];
    auto blocks = [&](const auto &from, const auto &to) {
      return from.count(edge.from) && to.count(edge.to) &&
             matrix.at(from.at(edge.from), to.at(edge.to)) >= kInfeasible;
    };
    return blocks(mine, theirs) || blocks(theirs, mine);
  });
}

bool CertificateReference::isInfeasible(uint32_t v, uint32_t s) const {
  for (auto [node, strategy] : variables_.at(v).at(s)) {
    if (problem_.nodes[node].costs[strategy] >= kInfeasible) {
      return true;
    }
  }
  return !goTogether(v, s, v, s);
}

bool CertificateReference::justifies(const Deduction &step) const {
  uint32_t v = step.variable, w = step.other;
  if (!variables_.count(v) || !variables_.count(w)) {
    return false;
  }
  const States &mine = variables_.at(v), &theirs = variables_.at(w);
  auto partners = [&](uint32_t s) {
    return std::ranges::count_if(theirs, [&](const auto &state) {
      return goTogether(v, s, w, state.first);
    });
  };
  if (step.kind == Deduction::Kind::Drop) {
    return mine.count(step.state) &&
           (v == w ? isInfeasible(v, step.state) : partners(step.state) == 0);
  }
  return v != w && std::ranges::all_of(mine, [&](const auto &state) {
           return partners(state.first) <= 1;
         });
}

void CertificateReference::take(const Deduction &step) {
  uint32_t v = step.variable, w = step.other;
  if (step.kind == Deduction::Kind::Drop) {
    variables_.at(v).erase(step.state);
    return;
  }
  States joined;
  for (const auto &[s, members] : variables_.at(v)) {
    for (const auto &[t, others] : variables_.at(w)) {
      if (goTogether(v, s, w, t)) {
        joined[s] = members;
        joined[s].insert(others.begin(), others.end());
      }
    }
  }
  variables_[v] = std::move(joined);
  variables_.erase(w);
  members_[v].merge(members_[w]);
  members_.erase(w);
}

std::vector<std::pair<uint32_t, uint32_t>> CertificateReference::pairs() const {
  std::map<uint32_t, uint32_t> variableOf;
  for (const auto &[v, members] : members_) {
    for (uint32_t member : members) {
      variableOf[member] = v;
    }
  }
  std::set<std::pair<uint32_t, uint32_t>> found;
  for (const Edge &edge : problem_.edges) {
    uint32_t u = variableOf[edge.from], v = variableOf[edge.to];
    if (u != v && !isFixed(u) && !isFixed(v)) {
      found.insert(std::minmax(u, v));
    }
  }
  return {found.begin(), found.end()};
}

CertificateReference::Alive CertificateReference::all() const {
  Alive alive;
  for (const auto &[v, states] : variables_) {
    alive[v];
    for (const auto &[s, members] : states) {
      if (term({}, {}, v, s)) {
        alive[v].insert(s);
      }
    }
  }
  return alive;
}

int unitBits(const Certificate &certificate) {
  return std::max(certificate.priceBits, 0);
}

static Wide inUnits(const Certificate &certificate, int64_t number, int bits) {
  return Wide(number) * (Wide(1) << (unitBits(certificate) - bits));
}

/// What `usage` of a resource costs while `user` lives.
template <typename NodeOrEdge>
static Wide memory(const Certificate &certificate, const BoundNode &node,
                   const NodeOrEdge &user, uint32_t resource, int64_t usage) {
  std::vector<Lifetime> lives = user.moreLives;
  lives.push_back(user.live);
  Wide sum = 0;
  for (MemoryPrice price : node.prices) {
    for (Lifetime live : lives) {
      if (price.resource == resource && live.begin <= price.time &&
          price.time < live.end) {
        sum += usage * inUnits(certificate, price.price, certificate.priceBits);
      }
    }
  }
  return sum;
}

/// The same of all resources that an edge uses at two states.
static Wide memoryOf(const Problem &problem, const Certificate &certificate,
                     const BoundNode &node, const Edge &edge, uint32_t row,
                     uint32_t column) {
  std::vector<std::optional<uint32_t>> matrices = edge.moreUsages;
  matrices.insert(matrices.begin(), edge.usages);
  Wide sum = 0;
  for (uint32_t r = 0; r != matrices.size(); ++r) {
    if (matrices[r]) {
      sum += memory(certificate, node, edge, r,
                    problem.matrices[*matrices[r]].at(row, column));
    }
  }
  return sum;
}

Wide CertificateReference::potential(const Certificate &certificate,
                                     const BoundNode &node, size_t pair,
                                     bool second, uint32_t state) const {
  auto all = pairs();
  size_t at = 0;
  for (size_t i = 0; i != pair; ++i) {
    at += variables_.at(all[i].first).size();
    at += variables_.at(all[i].second).size();
  }
  at += second ? variables_.at(all[pair].first).size() : 0;
  const States &states =
      variables_.at(second ? all[pair].second : all[pair].first);
  at += size_t(std::distance(states.begin(), states.find(state)));
  return inUnits(certificate, node.potentials[at], certificate.potentialBits);
}

std::optional<Wide> CertificateReference::term(const Certificate &certificate,
                                               const BoundNode &node,
                                               uint32_t v, uint32_t s) const {
  if (isInfeasible(v, s)) {
    return std::nullopt;
  }
  auto takes = variables_.at(v).at(s);
  Wide sum = 0;
  for (auto [member, strategy] : takes) {
    const Node &it = problem_.nodes[member];
    sum += inUnits(certificate, it.costs[strategy], 0);
    sum += memory(certificate, node, it, 0, it.usages[strategy]);
    for (uint32_t r = 0; r != it.moreUsages.size(); ++r) {
      if (!it.moreUsages[r].empty()) {
        sum += memory(certificate, node, it, r + 1, it.moreUsages[r][strategy]);
      }
    }
  }
  // An edge between two fixed variables counts once, at the lower of them.
  for (const auto &[w, states] : variables_) {
    if (w != v && states.size() == 1 && !(isFixed(v) && w < v)) {
      takes.insert(states.begin()->second.begin(),
                   states.begin()->second.end());
    }
  }
  const auto &own = variables_.at(v).at(s);
  for (const Edge &edge : problem_.edges) {
    if (!takes.count(edge.from) || !takes.count(edge.to) ||
        (!own.count(edge.from) && !own.count(edge.to))) {
      continue;
    }
    uint32_t row = takes[edge.from], column = takes[edge.to];
    int64_t cost = problem_.matrices[edge.costs].at(row, column);
    if (cost >= kInfeasible) {
      return std::nullopt;
    }
    sum += inUnits(certificate, cost, 0);
    sum += memoryOf(problem_, certificate, node, edge, row, column);
  }
  auto all = pairs();
  for (size_t i = 0; i != all.size() && node.bounds; ++i) {
    if (all[i].first == v || all[i].second == v) {
      sum += potential(certificate, node, i, all[i].second == v, s);
    }
  }
  return sum;
}

std::optional<Wide> CertificateReference::entry(const Certificate &certificate,
                                                const BoundNode &node,
                                                uint32_t u, uint32_t s,
                                                uint32_t v, uint32_t t) const {
  if (!goTogether(u, s, v, t)) {
    return std::nullopt;
  }
  const auto &first = variables_.at(u).at(s), &second = variables_.at(v).at(t);
  auto takes = first;
  takes.insert(second.begin(), second.end());
  Wide sum = 0;
  for (const Edge &edge : problem_.edges) {
    if ((first.count(edge.from) && second.count(edge.to)) ||
        (second.count(edge.from) && first.count(edge.to))) {
      uint32_t row = takes[edge.from], column = takes[edge.to];
      sum += inUnits(certificate, problem_.matrices[edge.costs].at(row, column),
                     0);
      sum += memoryOf(problem_, certificate, node, edge, row, column);
    }
  }
  return sum;
}

void keepLess(std::optional<Wide> &least, std::optional<Wide> value) {
  if (value && (!least || *value < *least)) {
    least = value;
  }
}

std::optional<Wide> CertificateReference::value(const Certificate &certificate,
                                                const BoundNode &node,
                                                const Alive &alive) const {
  Wide sum = 0;
  for (MemoryPrice price : node.prices) {
    sum -= inUnits(certificate, price.price, certificate.priceBits) *
           *problem_.limitOf(price.resource);
  }
  for (const auto &[v, states] : alive) {
    std::optional<Wide> least;
    for (uint32_t s : states) {
      keepLess(least, term(certificate, node, v, s));
    }
    if (!least) {
      return std::nullopt;
    }
    sum += *least;
  }
  auto all = pairs();
  for (size_t i = 0; i != all.size(); ++i) {
    auto [u, v] = all[i];
    std::optional<Wide> least;
    for (uint32_t s : alive.at(u)) {
      for (uint32_t t : alive.at(v)) {
        if (auto cost = entry(certificate, node, u, s, v, t)) {
          keepLess(least, *cost - potential(certificate, node, i, false, s) -
                              potential(certificate, node, i, true, t));
        }
      }
    }
    if (!least) {
      return std::nullopt;
    }
    sum += *least;
  }
  return sum;
}

void CertificateReference::makeConsistent(Alive &alive) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [u, v] : pairs()) {
      for (auto [x, y] : {std::pair(u, v), std::pair(v, u)}) {
        changed |= std::erase_if(alive[x], [&](uint32_t s) {
                     return std::ranges::none_of(alive[y], [&](uint32_t t) {
                       return goTogether(x, s, y, t);
                     });
                   }) != 0;
      }
    }
  }
}

void CertificateReference::fix(const Certificate &certificate,
                               const BoundNode &node, std::optional<Wide> value,
                               Alive &alive) const {
  Alive before = alive;
  for (const auto &[v, states] : before) {
    std::optional<Wide> least;
    for (uint32_t s : states) {
      keepLess(least, term(certificate, node, v, s));
    }
    for (uint32_t s : states) {
      if (!value ||
          *value + *term(certificate, node, v, s) - *least >=
              *certificate.cutoff * (Wide(1) << unitBits(certificate))) {
        alive[v].erase(s);
      }
    }
  }
}

} // namespace divisi::search
