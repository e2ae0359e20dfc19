//===- Consistency.cpp - States that some pair leaves alone ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Consistency.h"

#include <algorithm>

namespace divisi::search {

namespace {
/// What a pair loses if nothing of it has been lost.
struct Losses {
  bool isHard = false; ///< It has infeasible entries.
  bool isLonely = false;
};
} // namespace

static Losses lossesOf(const std::vector<Wide> &entries, size_t columns) {
  Losses losses;
  std::vector<bool> meets(columns, false);
  for (size_t row = 0; row != entries.size(); row += columns) {
    bool isAlone = true;
    for (size_t t = 0; t != columns; ++t) {
      bool isFeasible = entries[row + t] != kNever;
      losses.isHard |= !isFeasible;
      isAlone &= !isFeasible;
      meets[t] = meets[t] || isFeasible;
    }
    losses.isLonely |= isAlone;
  }
  losses.isLonely |= std::ranges::find(meets, false) != meets.end();
  return losses;
}

Consistency::Consistency(const Remainder &remainder) : remainder_(remainder) {
  std::vector<std::optional<Losses>> losses(remainder.blocks.size());
  for (uint32_t i = 0; i != remainder.pairs.size(); ++i) {
    const Remainder::Pair &pair = remainder.pairs[i];
    std::optional<Losses> &known = losses[pair.block];
    if (!known) {
      known = lossesOf(remainder.blocks[pair.block],
                       remainder.variables[pair.v].size());
    }
    if (known->isHard) {
      pairs_.push_back({i, known->isLonely});
    }
  }
}

void Consistency::restore(std::vector<bool> &alive,
                          std::optional<uint32_t> variable) const {
  std::vector<bool> changed(remainder_.variables.size(), !variable);
  if (variable) {
    changed[*variable] = true;
  }
  bool again = true;
  while (again) {
    again = false;
    std::vector<bool> next(changed.size(), false);
    for (const HardPair &hard : pairs_) {
      const Remainder::Pair &pair = remainder_.pairs[hard.index];
      if (changed[pair.u] || changed[pair.v] || next[pair.u] || next[pair.v]) {
        again |= lose(hard, alive, next);
      }
    }
    changed = std::move(next);
  }
}

/// Takes away the states of both ends that go with no state of the other, and
/// marks an end that loses some.
bool Consistency::lose(const HardPair &hard, std::vector<bool> &alive,
                       std::vector<bool> &changed) const {
  const Remainder::Pair &pair = remainder_.pairs[hard.index];
  const Remainder::Variable &u = remainder_.variables[pair.u];
  const Remainder::Variable &v = remainder_.variables[pair.v];
  auto isWhole = [&](const Remainder::Variable &end) {
    return std::all_of(alive.begin() + end.begin, alive.begin() + end.end,
                       [](bool isAlive) { return isAlive; });
  };
  if (!hard.isLonely && isWhole(u) && isWhole(v)) {
    return false;
  }
  std::vector<bool> met(v.size(), false);
  const Wide *entry = remainder_.blocks[pair.block].data();
  bool lost = false;
  for (uint32_t s = u.begin; s != u.end; ++s) {
    bool meets = false;
    for (uint32_t t = v.begin; t != v.end; ++t, ++entry) {
      if (alive[s] && alive[t] && *entry != kNever) {
        meets = true;
        met[t - v.begin] = true;
      }
    }
    if (alive[s] && !meets) {
      alive[s] = false;
      changed[pair.u] = lost = true;
    }
  }
  for (uint32_t t = v.begin; t != v.end; ++t) {
    if (alive[t] && !met[t - v.begin]) {
      alive[t] = false;
      changed[pair.v] = lost = true;
    }
  }
  return lost;
}

} // namespace divisi::search
