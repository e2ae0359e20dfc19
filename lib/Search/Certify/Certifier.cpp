//===- Certifier.cpp - From points of the dual to a certificate -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Certifier.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>

namespace divisi::search {

/// Potentials are kept to 2^-kPotentialDigits of what answers cost: tens of
/// thousands of pairs then lose less than a millionth.
static constexpr int kPotentialDigits = 36;
/// Prices are kept so that the whole limit costs this fraction exactly.
static constexpr int kPriceDigits = 34;

/// Chooses scales such that sums stay within 128 bits, and finds where the
/// potentials of each pair lie: the certificate sorts pairs by the numbers of
/// their nodes, this graph by its own.
Certifier::Certifier(const Problem &problem, const Reduction &reduction,
                     const ReducedGraph &reduced, double scale)
    : reduction_(reduction), reduced_(reduced) {
  int magnitude = std::ilogb(std::max(std::abs(scale), 1.0));
  potentialBits_ = std::clamp(kPotentialDigits - magnitude, -30, 30);
  double limit = 1;
  for (uint32_t r = 0; r != problem.numResources(); ++r) {
    limit = std::max(limit, double(problem.limitOf(r).value_or(1)));
  }
  int bytes = std::ilogb(limit);
  priceBits_ = std::clamp(kPriceDigits + bytes - magnitude,
                          std::max(potentialBits_, 0), 60);
  const CostGraph &graph = reduced.whole;
  auto roots = [&](uint32_t p) {
    return std::minmax({reduced_.nodeOf[graph.pairs[p].first],
                        reduced_.nodeOf[graph.pairs[p].second]});
  };
  order_.resize(graph.pairs.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, {}, roots);
  firstAt_.resize(order_.size());
  secondAt_.resize(order_.size());
  for (uint32_t p : order_) {
    const Pair &pair = graph.pairs[p];
    bool swapped = reduced_.nodeOf[pair.first] > reduced_.nodeOf[pair.second];
    uint32_t rows = pair.table->rows, columns = pair.table->columns;
    firstAt_[p] = numPotentials_ + (swapped ? columns : 0);
    secondAt_[p] = numPotentials_ + (swapped ? 0 : rows);
    numPotentials_ += rows + columns;
  }
}

Certificate Certifier::begin() const {
  Certificate certificate;
  certificate.priceBits = priceBits_;
  certificate.potentialBits = potentialBits_;
  certificate.deductions = reduction_.deductions;
  return certificate;
}

/// A dominated state goes where the one goes that replaces it, so that children
/// together keep all states.
std::vector<uint32_t>
Certifier::statesOf(uint32_t variable,
                    const std::vector<uint32_t> &states) const {
  const std::vector<uint32_t> &inWhole = reduced_.core.states[variable];
  uint32_t parent = reduced_.core.variableOf[variable];
  const std::vector<uint32_t> &standIn = reduced_.standIn[parent];
  std::vector<uint32_t> numbers;
  for (uint32_t s = 0; s != standIn.size(); ++s) {
    uint32_t kept = uint32_t(std::ranges::lower_bound(inWhole, standIn[s]) -
                             inWhole.begin());
    if (std::ranges::binary_search(states, kept)) {
      numbers.push_back(reduction_.states[reduced_.nodeOf[parent]][s]);
    }
  }
  return numbers;
}

/// Hopeless states are clipped: whatever they cost is enough.
static int64_t scaled(double value, int32_t bits) {
  return int64_t(
      std::clamp(std::round(std::ldexp(value, bits)), -0x1p60, 0x1p60));
}

BoundNode Certifier::makeInfeasible(const SubGraph &part, double cutoff) const {
  BoundNode node;
  node.bounds = true;
  node.potentials.assign(numPotentials_, 0);
  if (part.shortAt) {
    double price = 4 * std::max(std::abs(cutoff), 1.0) / part.shortage;
    price = std::clamp(std::ceil(std::ldexp(price, priceBits_)), 1.0, 0x1p62);
    Moment at = reduced_.timeOf[reduced_.core.timeOf[*part.shortAt]];
    node.prices.push_back({at.time, int64_t(price), at.resource});
  }
  return node;
}

BoundNode Certifier::makeNode(const DualPoint &point) const {
  return makeNode(point, splitMessages(reduced_.core.graph, point));
}

BoundNode Certifier::makeNode(const DualPoint &point,
                              const Potentials &potentials) const {
  return makeNode(reduced_.core.graph, reduced_.core, point, potentials);
}

BoundNode Certifier::makeNode(const DualPoint &point,
                              const SubGraph &part) const {
  return makeNode(part.graph, compose(reduced_.core, part), point,
                  splitMessages(part.graph, point));
}

/// Prices and potentials of a part, rounded to integers and put where they
/// belong among those of all that the deductions left.
BoundNode Certifier::makeNode(const CostGraph &graph, const Embedding &where,
                              const DualPoint &point,
                              const Potentials &potentials) const {
  BoundNode node;
  node.bounds = true;
  for (size_t t = 0; t != point.prices.size(); ++t) {
    auto price = int64_t(std::round(std::ldexp(point.prices[t], priceBits_)));
    if (price > 0) {
      Moment at = reduced_.timeOf[where.timeOf[t]];
      node.prices.push_back({at.time, price, at.resource});
    }
  }
  node.potentials.assign(numPotentials_, 0);
  for (size_t p = 0; p != graph.pairs.size(); ++p) {
    const Pair &pair = graph.pairs[p];
    uint32_t parent = where.pairOf[p];
    auto put = [&](uint32_t at, uint32_t variable,
                   std::span<const double> values) {
      for (size_t s = 0; s != values.size(); ++s) {
        node.potentials[at + where.states[variable][s]] =
            scaled(values[s], potentialBits_);
      }
    };
    put(firstAt_[parent], pair.first, potentials.first[p]);
    put(secondAt_[parent], pair.second, potentials.second[p]);
  }
  putRows(where, node);
  putDominated(node);
  return node;
}

/// Potentials that raise no term of a pair above that of the state that stays.
/// Last gone, first done: who replaces a state may have gone after it.
void Certifier::putDominated(BoundNode &node) const {
  for (const Dominated &lost : reduced_.dominated | std::views::reverse) {
    const std::vector<uint32_t> &pairs = reduced_.whole.pairsOf[lost.variable];
    for (size_t i = 0; i != pairs.size(); ++i) {
      bool first = reduced_.whole.pairs[pairs[i]].first == lost.variable;
      int64_t *at = &node.potentials[(first ? firstAt_ : secondAt_)[pairs[i]]];
      double shift = std::floor(std::ldexp(lost.shifts[i], potentialBits_));
      at[lost.state] =
          std::clamp(at[lost.by] + int64_t(std::clamp(shift, -0x1p60, 0x1p60)),
                     -(int64_t(1) << 61), int64_t(1) << 61);
    }
  }
}

/// A pair of which one end is fixed is a row, and belongs to the
/// states of the other end.
void Certifier::putRows(const Embedding &where, BoundNode &node) const {
  const CostGraph &graph = reduced_.whole;
  std::vector<int32_t> number(graph.variables.size(), -1);
  for (size_t v = 0; v != where.variableOf.size(); ++v) {
    number[where.variableOf[v]] = int32_t(v);
  }
  for (size_t p = 0; p != graph.pairs.size(); ++p) {
    const Pair &pair = graph.pairs[p];
    int32_t first = number[pair.first], second = number[pair.second];
    if ((first < 0) == (second < 0)) {
      continue;
    }
    bool free = second >= 0; // The second, or else the first.
    uint32_t fixed = where.fixed[free ? pair.first : pair.second];
    for (uint32_t s : where.states[free ? second : first]) {
      size_t entry = free ? size_t(fixed) * pair.table->columns + s
                          : size_t(s) * pair.table->columns + fixed;
      double cost = pair.table->exact[entry];
      for (const Usage &usage : pair.usages) {
        cost += usage.usages[entry] * priceDuring(node, usage);
      }
      node.potentials[(free ? secondAt_ : firstAt_)[p] + s] =
          scaled(cost, potentialBits_);
    }
  }
}

/// What the prices of `node` are while `usage` lasts.
double Certifier::priceDuring(const BoundNode &node, const Usage &usage) const {
  double sum = 0;
  for (MemoryPrice price : node.prices) {
    auto at = std::ranges::lower_bound(reduced_.timeOf,
                                       Moment{price.resource, price.time}) -
              reduced_.timeOf.begin();
    if (at >= usage.begin && at < usage.end) {
      sum += std::ldexp(double(price.price), -priceBits_);
    }
  }
  return sum;
}

} // namespace divisi::search
