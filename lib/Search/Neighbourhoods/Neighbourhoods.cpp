//===- Neighbourhoods.cpp - Large-neighbourhood search --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Neighbourhoods.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace divisi::search {

static constexpr size_t kRoundings = 12;
static constexpr int kSteps = 120;

Neighbourhoods::Neighbourhoods(const CostGraph &graph, uint64_t seed)
    : graph_(&graph), random_(seed) {
  reward_.fill(1);
}

void Neighbourhoods::remember(const Assignment &rounding) {
  roundings_.push_back(rounding);
  if (roundings_.size() > kRoundings) {
    roundings_.pop_front();
  }
}

void Neighbourhoods::open(Domains &domains, uint32_t variable) const {
  std::vector<uint32_t> states(graph_->numStates(variable));
  std::iota(states.begin(), states.end(), 0);
  domains.set(variable, std::move(states));
}

/// Breadth first from a random variable, until the ball is full.
void Neighbourhoods::openBall(Domains &domains, const Incumbent &best) {
  uint32_t count = uint32_t(best.assignment.size());
  // Sizes from 10 to 1000, evenly in the logarithm.
  size_t size = size_t(10 * std::pow(100.0, random_.below(1024) / 1024.0));
  std::vector<uint32_t> queue{random_.below(count)};
  std::vector<bool> seen(count, false);
  seen[queue[0]] = true;
  for (size_t next = 0; next != queue.size() && queue.size() < size; ++next) {
    std::vector<uint32_t> pairs = graph_->pairsOf[queue[next]];
    // Of a hub not always the same neighbours.
    for (size_t i = pairs.size(); i > 1; --i) {
      std::swap(pairs[i - 1], pairs[random_.below(uint32_t(i))]);
    }
    for (uint32_t p : pairs) {
      const Pair &pair = graph_->pairs[p];
      uint32_t other = pair.first == queue[next] ? pair.second : pair.first;
      if (!seen[other] && queue.size() < size) {
        seen[other] = true;
        queue.push_back(other);
      }
    }
  }
  for (uint32_t v : queue) {
    open(domains, v);
  }
}

void Neighbourhoods::openWindow(Domains &domains, const Incumbent &best) {
  uint32_t count = uint32_t(best.assignment.size());
  uint32_t size = uint32_t(20 * std::pow(30.0, random_.below(1024) / 1024.0));
  uint32_t begin = random_.below(count);
  for (uint32_t v = begin; v < std::min(count, begin + size); ++v) {
    open(domains, v);
  }
}

/// The states that the answer or one of up to six recent roundings takes.
void Neighbourhoods::openFusion(Domains &domains, const Incumbent &best) {
  std::vector<const Assignment *> chosen;
  uint32_t wanted = 1 + random_.below(6);
  for (uint32_t i = 0; i != wanted; ++i) {
    chosen.push_back(&roundings_[random_.below(uint32_t(roundings_.size()))]);
  }
  for (uint32_t v = 0; v != best.assignment.size(); ++v) {
    std::vector<uint32_t> states{best.assignment[v]};
    for (const Assignment *rounding : chosen) {
      states.push_back((*rounding)[v]);
    }
    std::ranges::sort(states);
    states.erase(std::unique(states.begin(), states.end()), states.end());
    domains.set(v, std::move(states));
  }
}

/// The threshold is drawn from a three-thousandth of the gap to three times the
/// gap, evenly in the logarithm.
void Neighbourhoods::openCheap(Domains &domains, const Incumbent &best,
                               const DualPoint &dual) {
  Messages messages = Lagrangian(*graph_, dual).messages();
  Assignment taken;
  messages.forward(taken);
  double gap = std::max(best.cost - dual.bound, 0.0);
  double threshold =
      gap * std::pow(10.0, -3.5 + 4 * (random_.below(1024) / 1024.0));
  std::vector<double> hat;
  for (uint32_t v = 0; v != best.assignment.size(); ++v) {
    messages.belief(v, hat);
    double least = *std::ranges::min_element(hat);
    double share = messages.share(v);
    std::vector<uint32_t> states;
    for (uint32_t s = 0; s != hat.size(); ++s) {
      if (s == best.assignment[v] || (hat[s] - least) * share <= threshold) {
        states.push_back(s);
      }
    }
    domains.set(v, std::move(states));
  }
}

/// A kind is drawn by its reward, and none is ever ruled out.
Neighbourhoods::Kind Neighbourhoods::pickKind() {
  std::array<double, kNumKinds> weights;
  double total = 0;
  for (int k = 0; k != kNumKinds; ++k) {
    weights[k] = k == Fusion && roundings_.empty() ? 0 : reward_[k] + 0.1;
    total += weights[k];
  }
  double at = total * random_.below(1 << 20) / (1 << 20);
  for (int k = 0; k != kNumKinds; ++k) {
    at -= weights[k];
    if (at < 0) {
      return Kind(k);
    }
  }
  return Ball;
}

Domains Neighbourhoods::makeDomains(Kind kind, const Incumbent &best,
                                    const DualPoint &dual) {
  Domains domains(best.assignment);
  switch (kind) {
  case Ball:
    openBall(domains, best);
    break;
  case Window:
    openWindow(domains, best);
    break;
  case Fusion:
    openFusion(domains, best);
    break;
  default:
    openCheap(domains, best, dual);
  }
  return domains;
}

/// Opens a neighbourhood; false if there is nothing in it.
bool Neighbourhoods::begin(const Incumbent &best, const DualPoint &dual,
                           int64_t &done) {
  auto search = std::make_unique<Search>();
  search->kind = pickKind();
  search->sub = restrict(*graph_, makeDomains(search->kind, best, dual));
  search->before = best.cost;
  done +=
      5'000 + graph_->numEntries() / 4 + int64_t(graph_->capacity.size()) * 4;
  if (search->sub.infeasible || search->sub.graph.variables.empty()) {
    return false;
  }
  search->lagrangian = std::make_unique<Lagrangian>(
      search->sub.graph, lower(*graph_, search->sub, dual));
  search->lagrangian->setWarmUp(8);
  current_ = std::move(search);
  return true;
}

/// One step; false when the neighbourhood is done with.
bool Neighbourhoods::step(Incumbent &best) {
  Lagrangian &lagrangian = *current_->lagrangian;
  lagrangian.step(best.cost);
  for (bool forward : {true, false}) {
    Value value =
        forward ? lagrangian.forwardValue() : lagrangian.backwardValue();
    if (value.feasible() && value.cost < best.cost) {
      best.assignment = current_->sub.expand(
          forward ? lagrangian.forwardTaken() : lagrangian.backwardTaken());
      best.cost = value.cost;
    }
  }
  return lagrangian.steps() < kSteps &&
         lagrangian.best().bound < best.cost * (1 - 1e-9);
}

/// Remembers what the kind of neighbourhood was worth, relative to the cost.
void Neighbourhoods::end(const Incumbent &best) {
  double gain =
      (current_->before - best.cost) / std::abs(current_->before) * 1e4;
  double &reward = reward_[current_->kind];
  reward = 0.9 * reward + 0.1 * std::clamp(gain, 0.0, 10.0);
  failures_ = gain > 0 ? 0 : failures_ + 1;
  current_.reset();
}

/// A search that the work does not suffice for goes on in the next call.
int64_t Neighbourhoods::improve(Incumbent &best, const DualPoint &dual,
                                int64_t work,
                                const std::function<bool()> &stopped) {
  int64_t done = 0;
  while (done < work && !stopped()) {
    if (!current_ && !begin(best, dual, done)) {
      ++failures_;
      continue;
    }
    done += current_->lagrangian->workOfStep();
    if (!step(best)) {
      end(best);
    }
  }
  return done;
}

} // namespace divisi::search
