//===- Lagrangian.cpp - Prices of memory, jointly with messages -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lagrangian.h"
#include "lib/Search/Graph/EveryWidth.h"

#include <algorithm>
#include <cmath>

namespace divisi::search {

/// How much of a new excess enters the gradient.
static constexpr double kSmoothing = 0.2;
/// Bounds further below the best than this many ambitions lead too far away.
static constexpr double kDeepest = 5;
/// When the dual counts as stalled: by its ambition, relative; or without
/// prices by so many steps of less gain than this, relative.
static constexpr double kStalledAmbition = 4e-6, kIdleGain = 1e-6;
static constexpr int64_t kIdleSteps = 64;
/// The target's first distance from the bound without memory, relative.
static constexpr double kFirstAmbition = 0.1;
/// Where the bound no longer rises it comes down by this factor, at most to
/// this, relative.
static constexpr double kDecay = 0.65;
static constexpr double kLeastAmbition = 1e-6;
/// What counts as opposed (the cosine of two directions); what is left then of
/// the ambition; and how many ambitions below the best a step went too far.
static constexpr double kOpposed = 0.5, kOpposedDecay = 0.85, kOvershot = 2;
/// Bounds smaller than this part of what choices matter say nothing of what
/// answers cost; then the first distance is this part of it.
static constexpr double kNothing = 1e-7, kFirstOfSpread = 1e-3;

int64_t workOfPasses(const CostGraph &graph) {
  int64_t work = 2 * graph.numEntries() + 150 * int64_t(graph.pairs.size()) +
                 4 * int64_t(graph.capacity.size()) + 1000;
  for (const Variable &variable : graph.variables) {
    work += int64_t(variable.costs.size() * (1 + variable.usages.size()));
  }
  return work;
}

Lagrangian::Lagrangian(const CostGraph &graph)
    : graph_(&graph), messages_(graph) {
  prices_.assign(graph.capacity.size(), 0);
  sums_.assign(graph.capacity.size() + 1, 0);
  gradient_.assign(graph.capacity.size(), 0);
  for (uint32_t p = 0; p != graph.pairs.size(); ++p) {
    if (!graph.pairs[p].usages.empty()) {
      pricedPairs_.push_back(p);
    }
  }
  priceOfPair_.assign(pricedPairs_.size(), 0);
  work_ = workOfPasses(graph);
  for (const Variable &variable : graph.variables) {
    double most = 0, least = kForbidden;
    for (double cost : variable.costs) {
      most = cost < kForbidden ? std::max(most, cost) : most;
      least = std::min(least, cost);
    }
    spread_ += std::max(most - least, 0.);
  }
}

double Lagrangian::scale() const {
  return std::max(std::abs(best_.bound), kNothing * spread_);
}

Lagrangian::Lagrangian(const CostGraph &graph, const DualPoint &start)
    : Lagrangian(graph) {
  prices_ = start.prices;
  messages_.load(start.messages);
  warmUp_ = 0;
  priced_ = std::ranges::any_of(prices_, [](double p) { return p > 0; });
  applyPrices();
}

/// Costs of states at the prices; O(1) for each lifetime, by their sums.
void Lagrangian::applyPrices() {
  double sum = 0;
  for (size_t t = 0; t != prices_.size(); ++t) {
    sums_[t] = sum;
    sum += prices_[t];
  }
  sums_.back() = sum;
  for (uint32_t v = 0; v != graph_->variables.size(); ++v) {
    const Variable &variable = graph_->variables[v];
    if (variable.usages.empty()) {
      continue;
    }
    double *costs = messages_.costs().data() + messages_.offset(v);
    std::ranges::copy(variable.costs, costs);
    for (const Usage &usage : variable.usages) {
      double price = sums_[usage.end] - sums_[usage.begin];
      if (price != 0) {
        for (size_t s = 0; s != usage.usages.size(); ++s) {
          costs[s] += usage.usages[s] * price;
        }
      }
    }
  }
  priceTables();
}

/// Adds what `usages` cost at `prices`, one of each, to `costs`; in the order
/// of the usages, of one part of the costs after the other.
DIVISI_FOR_EVERY_WIDTH
static void addPriced(const std::vector<Usage> &usages,
                      const std::vector<double> &prices,
                      std::vector<double> &costs) {
  constexpr size_t kPart = 1024; // which stays in the nearest cache
  for (size_t begin = 0; begin < costs.size(); begin += kPart) {
    size_t count = std::min(kPart, costs.size() - begin);
    double *to = costs.data() + begin;
    for (size_t u = 0; u != usages.size(); ++u) {
      const double *bytes = &*usages[u].usages.begin() + begin;
      double price = prices[u];
      if (price == 0) {
        continue;
      }
      for (size_t e = 0; e != count; ++e) {
        to[e] += bytes[e] * price;
      }
    }
  }
}

/// Transient memory makes tables of their own, remade when its price changes.
void Lagrangian::priceTables() {
  std::vector<double> prices;
  for (size_t i = 0; i != pricedPairs_.size(); ++i) {
    const Pair &pair = graph_->pairs[pricedPairs_[i]];
    double total = 0;
    prices.clear();
    for (const Usage &usage : pair.usages) {
      prices.push_back(sums_[usage.end] - sums_[usage.begin]);
      total += prices.back();
    }
    if (total == priceOfPair_[i]) {
      continue;
    }
    priceOfPair_[i] = total;
    Table table;
    table.rows = pair.table->rows;
    table.columns = pair.table->columns;
    table.exact = pair.table->exact;
    addPriced(pair.usages, prices, table.exact);
    table.round();
    messages_.setTable(pricedPairs_[i],
                       std::make_shared<const Table>(std::move(table)));
  }
}

Value Lagrangian::judge(const Assignment &taken,
                        std::vector<double> &excess) const {
  Value value;
  excessOf(*graph_, taken, excess);
  for (double over : excess) {
    value.excess += std::max(over, 0.0);
  }
  // What does not fit may cost what it will.
  value.cost = value.excess > 0 ? kTop : costOf(*graph_, taken);
  return value;
}

/// Two passes and their bound; then the prices move, if the limit binds at all.
void Lagrangian::step(double upper) {
  messages_.forward(forward_);
  bound_ = messages_.backward(backward_) + graph_->constant;
  for (size_t t = 0; t != prices_.size(); ++t) {
    bound_ -= prices_[t] * graph_->capacity[t];
  }
  forwardValue_ = judge(forward_, forwardExcess_);
  backwardValue_ = judge(backward_, backwardExcess_);
  ++steps_;
  double gain = bound_ - best_.bound;
  if (gain > 0) {
    best_.bound = bound_;
    best_.prices = prices_;
    messages_.save(best_.messages);
  }
  bool rose = best_.bound - checked_ > kIdleGain * scale();
  checked_ = rose ? best_.bound : checked_;
  idle_ = rose ? 0 : idle_ + 1;
  if (prices_.empty() || steps_ < warmUp_) {
    return;
  }
  if (!priced_ && forwardValue_.excess <= 0 && backwardValue_.excess <= 0) {
    return; // The limit does not bind: messages alone.
  }
  if (ambition_ == 0) {
    ambition_ = std::abs(best_.bound) > kNothing * spread_
                    ? kFirstAmbition * std::abs(best_.bound)
                    : kFirstOfSpread * spread_;
    if (upper < kForbidden) {
      ambition_ =
          std::min(ambition_, std::max(0.5 * (upper - best_.bound), 0.));
    }
    lastGain_ = best_.bound;
  }
  if (adaptAmbition()) {
    movePrices(upper);
  }
}

bool Lagrangian::stalled() const {
  return priced_ && ambition_ != 0 ? ambition_ < kStalledAmbition * scale()
                                   : idle_ > kIdleSteps;
}

/// False after going back: the last excess is not that of these prices.
bool Lagrangian::adaptAmbition() {
  if (best_.bound - lastGain_ > 0.1 * ambition_) {
    ambition_ *= 1.05;
    lastGain_ = best_.bound;
    sinceGain_ = 0;
  } else if (++sinceGain_ >= 10) {
    double relative = (best_.bound - lastGain_) / scale();
    if (relative < 1e-4) {
      ambition_ = std::max(kDecay * ambition_, kLeastAmbition * scale());
    }
    lastGain_ = best_.bound;
    sinceGain_ = 0;
  }
  below_ = bound_ < best_.bound - 20 * ambition_ ? below_ + 1 : 0;
  if (below_ > 15) {
    restore();
    return false;
  }
  return true;
}

void Lagrangian::restore() {
  prices_ = best_.prices;
  messages_.load(best_.messages);
  below_ = 0;
  gradient_.assign(gradient_.size(), 0);
  applyPrices();
}

double Lagrangian::excessAt(size_t t) const {
  return 0.5 * (forwardExcess_[t] + backwardExcess_[t]);
}

/// Whether the times whose price can move now want nearly the opposite of what
/// the last steps did: the optimum lies between.
bool Lagrangian::isOpposed() const {
  double along = 0, last = 0, now = 0;
  for (size_t t = 0; t != prices_.size(); ++t) {
    double excess = excessAt(t);
    if (excess > 0 || prices_[t] > 0) {
      along += gradient_[t] * excess;
      last += gradient_[t] * gradient_[t];
      now += excess * excess;
    }
  }
  return along < -kOpposed * std::sqrt(last * now);
}

/// Polyak's length counts only times whose price can move: at others a gradient
/// below zero meets a price of zero.
void Lagrangian::movePrices(double upper) {
  double square = 0;
  bool opposed = turns_ && priced_ && isOpposed();
  bool first = !priced_ || opposed;
  for (size_t t = 0; t != prices_.size(); ++t) {
    double excess = excessAt(t);
    gradient_[t] =
        first ? excess : (1 - kSmoothing) * gradient_[t] + kSmoothing * excess;
    if (gradient_[t] > 0 || prices_[t] > 0) {
      square += gradient_[t] * gradient_[t];
    }
  }
  priced_ = true;
  if (square == 0) {
    return;
  }
  if (opposed && bound_ < best_.bound) {
    ambition_ = std::max(kOpposedDecay * ambition_, kLeastAmbition * scale());
    if (bound_ < best_.bound - kOvershot * ambition_) {
      for (size_t t = 0; t != prices_.size(); ++t) {
        prices_[t] = 0.5 * (prices_[t] + best_.prices[t]);
      }
      applyPrices();
      return;
    }
  }
  double target = best_.bound + ambition_;
  if (upper < kForbidden) {
    target = std::min(target, best_.bound + 0.5 * (upper - best_.bound));
  }
  double reached = std::max(bound_, best_.bound - kDeepest * ambition_);
  double length = std::max(target - reached, 0.0) / square;
  for (size_t t = 0; t != prices_.size(); ++t) {
    if (gradient_[t] > 0 || prices_[t] > 0) {
      prices_[t] = std::max(0.0, prices_[t] + length * gradient_[t]);
    }
  }
  applyPrices();
}

} // namespace divisi::search
