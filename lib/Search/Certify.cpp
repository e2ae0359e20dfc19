//===- Certify.cpp - From points of the dual to a certificate -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Certify.h"

#include "Potentials.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace divisi::search {

/// Potentials are kept to 2^-kPotentialDigits of what answers cost: tens of
/// thousands of pairs then lose less than a millionth.
static constexpr int kPotentialDigits = 36;
/// Prices are kept so that the whole limit costs this fraction exactly.
static constexpr int kPriceDigits = 34;

Certifier::Certifier(const Problem &problem, const Reduction &reduction,
                     const ReducedModel &reduced, double scale)
    : reduction_(reduction), reduced_(reduced) {
  int magnitude = std::ilogb(std::max(std::abs(scale), 1.0));
  potentialBits_ = std::clamp(kPotentialDigits - magnitude, -30, 30);
  double limit = problem.usageLimit ? double(*problem.usageLimit) : 1;
  int bytes = std::ilogb(std::max(limit, 1.0));
  priceBits_ = std::clamp(kPriceDigits + bytes - magnitude,
                          std::max(potentialBits_, 0), 60);
  const Model &model = reduced.model;
  auto roots = [&](uint32_t p) {
    return std::minmax({reduced_.nodeOf[model.pairs[p].first],
                        reduced_.nodeOf[model.pairs[p].second]});
  };
  order_.resize(model.pairs.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, {}, roots);
  firstAt_.resize(order_.size());
  secondAt_.resize(order_.size());
  for (uint32_t p : order_) {
    const Pair &pair = model.pairs[p];
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
  certificate.steps = reduction_.steps;
  return certificate;
}

/// Hopeless states are clipped: whatever they cost is enough.
static int64_t scaled(double value, int32_t bits) {
  return int64_t(
      std::clamp(std::round(std::ldexp(value, bits)), -0x1p60, 0x1p60));
}

BoundNode Certifier::makeInfeasible(const SubModel &part, double cutoff) const {
  BoundNode node;
  node.bounds = true;
  node.potentials.assign(numPotentials_, 0);
  if (part.shortAt) {
    double price = 4 * std::max(std::abs(cutoff), 1.0) / part.shortage;
    price = std::clamp(std::ceil(std::ldexp(price, priceBits_)), 1.0, 0x1p62);
    node.prices.push_back({reduced_.timeOf[*part.shortAt], int64_t(price)});
  }
  return node;
}

BoundNode Certifier::makeNode(const DualPoint &point,
                              const SubModel *part) const {
  const Model &model = part ? part->model : reduced_.model;
  BoundNode node;
  node.bounds = true;
  for (size_t t = 0; t != point.prices.size(); ++t) {
    auto price = int64_t(std::round(std::ldexp(point.prices[t], priceBits_)));
    if (price > 0) {
      uint32_t at = part ? part->timeOf[t] : uint32_t(t);
      node.prices.push_back({reduced_.timeOf[at], price});
    }
  }
  Potentials potentials = splitMessages(model, point);
  node.potentials.assign(numPotentials_, 0);
  for (size_t p = 0; p != model.pairs.size(); ++p) {
    const Pair &pair = model.pairs[p];
    uint32_t parent = part ? part->pairOf[p] : uint32_t(p);
    auto put = [&](uint32_t at, uint32_t variable,
                   std::span<const double> values) {
      for (size_t s = 0; s != values.size(); ++s) {
        uint32_t state = part ? part->states[variable][s] : uint32_t(s);
        node.potentials[at + state] = scaled(values[s], potentialBits_);
      }
    };
    put(firstAt_[parent], pair.first, potentials.first[p]);
    put(secondAt_[parent], pair.second, potentials.second[p]);
  }
  if (part) {
    putRows(*part, node);
  }
  return node;
}

/// A pair of which one end is fixed in `part` is a row, and belongs to the
/// states of the other end.
void Certifier::putRows(const SubModel &part, BoundNode &node) const {
  const Model &model = reduced_.model;
  std::vector<int32_t> number(model.variables.size(), -1);
  for (size_t v = 0; v != part.variableOf.size(); ++v) {
    number[part.variableOf[v]] = int32_t(v);
  }
  for (size_t p = 0; p != model.pairs.size(); ++p) {
    const Pair &pair = model.pairs[p];
    int32_t first = number[pair.first], second = number[pair.second];
    if ((first < 0) == (second < 0)) {
      continue;
    }
    bool free = second >= 0; // The second, or else the first.
    uint32_t fixed = part.fixed[free ? pair.first : pair.second];
    for (uint32_t s : part.states[free ? second : first]) {
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
    auto at = std::ranges::lower_bound(reduced_.timeOf, price.time) -
              reduced_.timeOf.begin();
    if (at >= usage.begin && at < usage.end) {
      sum += std::ldexp(double(price.price), -priceBits_);
    }
  }
  return sum;
}

} // namespace divisi::search
