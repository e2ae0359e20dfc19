//===- TreeBound.cpp - The bound that a tree proves -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All values are integers in units of 2^-unitBits, the finest of those of
// costs, prices and potentials.
//
//===----------------------------------------------------------------------===//

#include "TreeBound.h"
#include "Consistency.h"
#include "Prices.h"

#include <algorithm>
#include <map>

namespace divisi::search {

namespace {
class TreeCheck {
public:
  TreeCheck(Merging &merging, Remainder remainder,
            const Certificate &certificate);
  Expected<std::optional<Wide>> bound();

private:
  /// What is known at a node of the tree once it is reached.
  struct Known {
    std::vector<bool> alive; ///< Of each state; emptied after its last child.
    /// Of the nearest ancestor that bounds, or itself; kNever is infinite.
    std::optional<Wide> value;
    std::vector<uint32_t> children;
    size_t childrenLeft = 0;
  };

  /// A state of one end of a pair, and its potential in units.
  struct End {
    uint32_t state;
    Wide shift;
  };

  void scale(std::vector<Wide> &costs);
  std::optional<std::string> visit(uint32_t index);
  void inherit(uint32_t index);
  Wide value(const BoundNode &node, const std::vector<bool> &alive);
  void chargeMemory(const Prices &prices);
  Wide pairMinimum(size_t pair, const Prices &prices, const int64_t *potentials,
                   const std::vector<bool> &alive);
  Wide leastEntry(const Wide *entries, uint32_t width);
  std::span<const Remainder::PairUse> usesOf(size_t pair) const;
  void chargePair(size_t pair, const Prices &prices);
  Wide minimumOf(const Remainder::Variable &variable,
                 const std::vector<bool> &alive) const;
  void fix(Wide value, std::vector<bool> &alive);
  std::optional<std::string> checkCover(const Known &known);
  Expected<std::optional<Wide>> leastOfLeaves();

  const Certificate &certificate_;
  Merging &merging_;
  Remainder remainder_; ///< Its costs and entries are scaled to units.
  int unitBits_, potentialShift_, priceShift_;
  CheckedWide exact_;
  Consistency consistency_; ///< Of the remainder.
  /// Least entries of pairs at the node that is being evaluated, by all that
  /// they follow from: entries, what is alive of both ends, potentials.
  std::map<std::vector<int64_t>, Wide> leastOf_;
  std::vector<Known> known_;
  // Of the node that is being evaluated:
  std::vector<Wide> terms_;         ///< Of each state: its cost and potentials.
  std::vector<Wide> charged_;       ///< A pair's entries with memory.
  std::vector<End> rows_, columns_; ///< What is alive of a pair's ends.
};
} // namespace

/// Scales all costs once, and lets the root lose what no minimum counts.
TreeCheck::TreeCheck(Merging &merging, Remainder remainder,
                     const Certificate &certificate)
    : certificate_(certificate), merging_(merging),
      remainder_(std::move(remainder)),
      unitBits_(std::max(certificate.priceBits, 0)),
      potentialShift_(unitBits_ - certificate.potentialBits),
      priceShift_(unitBits_ - certificate.priceBits), consistency_(remainder_),
      known_(certificate.tree.size()) {
  scale(remainder_.costs);
  for (std::vector<Wide> &block : remainder_.blocks) {
    scale(block);
  }
  for (uint32_t i = 1; i != certificate.tree.size(); ++i) {
    known_[size_t(certificate.tree[i].parent)].children.push_back(i);
  }
  for (Known &known : known_) {
    known.childrenLeft = known.children.size();
  }
  // No minimum counts an infeasible state, so none has to be kept either.
  for (Wide cost : remainder_.costs) {
    known_[0].alive.push_back(cost != kNever);
  }
  consistency_.restore(known_[0].alive);
}

void TreeCheck::scale(std::vector<Wide> &costs) {
  for (Wide &cost : costs) {
    cost = cost == kNever ? kNever : exact_.scale(cost, unitBits_);
  }
}

Expected<std::optional<Wide>> TreeCheck::bound() {
  for (uint32_t i = 0; i != known_.size(); ++i) {
    std::optional<std::string> wrong = visit(i);
    if (exact_.overflowed()) {
      wrong = "its values need more than 128 bits; use fewer price bits, or "
              "smaller prices and potentials";
    }
    if (wrong) {
      return Status(ExitCode::Invalid,
                    "node " + std::to_string(i) + " of the tree: " + *wrong);
    }
  }
  return leastOfLeaves();
}

/// Parents come before children, so what a node inherits is known. States of a
/// node are kept until its last child has taken them.
std::optional<std::string> TreeCheck::visit(uint32_t index) {
  const BoundNode &node = certificate_.tree[index];
  Known &known = known_[index];
  if (index != 0) {
    inherit(index);
  }
  if (node.bounds) {
    known.value = value(node, known.alive);
    if (node.fixes) {
      fix(*known.value, known.alive);
      consistency_.restore(known.alive);
    }
  }
  if (!known.children.empty()) {
    return checkCover(known);
  }
  known.alive = {};
  return known.value ? std::nullopt
                     : std::optional<std::string>(
                           "it is a leaf, but neither it nor one above bounds");
}

/// Takes from the parent what the node's split leaves.
void TreeCheck::inherit(uint32_t index) {
  const BoundNode &node = certificate_.tree[index];
  Known &known = known_[index], &parent = known_[size_t(node.parent)];
  known.value = parent.value;
  known.alive =
      --parent.childrenLeft == 0 ? std::move(parent.alive) : parent.alive;
  uint32_t at = *remainder_.find(node.variable);
  const Remainder::Variable &variable = remainder_.variables[at];
  for (uint32_t s = variable.begin; s != variable.end; ++s) {
    if (!std::ranges::binary_search(node.kept, remainder_.states[s])) {
      known.alive[s] = false;
    }
  }
  consistency_.restore(known.alive, at);
}

/// The formula of Certificate.h for the states that are alive.
Wide TreeCheck::value(const BoundNode &node, const std::vector<bool> &alive) {
  Prices prices(node.prices, priceShift_, exact_);
  terms_ = remainder_.costs;
  leastOf_.clear();
  chargeMemory(prices);
  bool infinite = false;
  Wide sum = 0;
  auto count = [&](Wide minimum) {
    infinite |= minimum == kNever;
    sum = minimum == kNever ? sum : exact_.add(sum, minimum);
  };
  for (size_t i = 0; i != remainder_.pairs.size(); ++i) {
    count(pairMinimum(
        i, prices, node.potentials.data() + remainder_.pairs[i].firstPotential,
        alive));
  }
  for (const Remainder::Variable &variable : remainder_.variables) {
    count(minimumOf(variable, alive));
  }
  for (uint32_t r = 0; r != merging_.problem().numResources(); ++r) {
    if (Wide total = prices.total(r); total != 0) {
      sum = exact_.subtract(
          sum, exact_.multiply(total, *merging_.problem().limitOf(r)));
    }
  }
  return infinite ? kNever : sum;
}

/// Adds to the terms what states cost for memory.
void TreeCheck::chargeMemory(const Prices &prices) {
  if (prices.areAllZero()) {
    return;
  }
  for (const Remainder::Use &use : remainder_.uses) {
    Wide price = prices.during(use.resource, use.live);
    if (price == 0) {
      continue;
    }
    const Remainder::Variable &variable = remainder_.variables[use.variable];
    const int64_t *usage = &remainder_.usages[use.firstUsage];
    for (uint32_t s = variable.begin; s != variable.end; ++s, ++usage) {
      if (terms_[s] != kNever) {
        terms_[s] = exact_.add(terms_[s], exact_.multiply(price, *usage));
      }
    }
  }
}

/// The least entry of a pair after its potentials are taken from it; the terms
/// of its states get them.
Wide TreeCheck::pairMinimum(size_t index, const Prices &prices,
                            const int64_t *potentials,
                            const std::vector<bool> &alive) {
  const Remainder::Pair &pair = remainder_.pairs[index];
  const Remainder::Variable &u = remainder_.variables[pair.u];
  const Remainder::Variable &v = remainder_.variables[pair.v];
  std::vector<int64_t> key{pair.block};
  auto move = [&](const Remainder::Variable &end, const int64_t *potential,
                  std::vector<End> &ends) {
    ends.clear();
    for (uint32_t s = end.begin; s != end.end; ++s, ++potential) {
      if (alive[s]) {
        Wide shift = exact_.scale(*potential, potentialShift_);
        terms_[s] = exact_.add(terms_[s], shift);
        ends.push_back({s - end.begin, shift});
        key.push_back(s - end.begin);
        key.push_back(*potential);
      }
    }
    key.push_back(-1);
  };
  move(u, potentials, rows_);
  move(v, potentials + u.size(), columns_);
  if (!usesOf(index).empty() && !prices.areAllZero()) {
    chargePair(index, prices);
    return leastEntry(charged_.data(), v.size());
  }
  auto [known, isNew] = leastOf_.try_emplace(std::move(key));
  if (isNew) {
    known->second = leastEntry(remainder_.blocks[pair.block].data(), v.size());
  }
  return known->second;
}

/// Of a pair's `entries`, those of rows_ and columns_ less their shifts.
Wide TreeCheck::leastEntry(const Wide *entries, uint32_t width) {
  Wide least = kNever;
  for (End row : rows_) {
    const Wide *entry = entries + size_t(row.state) * width;
    Wide leastOfRow = kNever;
    for (End column : columns_) {
      // Both are results of exact_, so their difference does not wrap.
      if (entry[column.state] != kNever) {
        leastOfRow = std::min(leastOfRow, entry[column.state] - column.shift);
      }
    }
    if (leastOfRow != kNever) {
      least = std::min(least, exact_.subtract(leastOfRow, row.shift));
    }
  }
  return least;
}

std::span<const Remainder::PairUse> TreeCheck::usesOf(size_t pair) const {
  return std::ranges::equal_range(remainder_.pairUses, pair, {},
                                  &Remainder::PairUse::pair);
}

/// Leaves in charged_ the pair's entries with what its edges use.
void TreeCheck::chargePair(size_t index, const Prices &prices) {
  const Problem &problem = merging_.problem();
  const Remainder::Pair &pair = remainder_.pairs[index];
  const Remainder::Variable &u = remainder_.variables[pair.u];
  const Remainder::Variable &v = remainder_.variables[pair.v];
  charged_ = remainder_.blocks[pair.block];
  for (const Remainder::PairUse &use : usesOf(index)) {
    const Edge &edge = problem.edges[use.edge];
    Wide price = prices.during(use.resource, use.live);
    if (price == 0) {
      continue;
    }
    const Matrix &usages = problem.matrices[use.matrix];
    std::vector<uint32_t> ofU = strategiesOf(merging_, remainder_, u,
                                             use.forward ? edge.from : edge.to);
    std::vector<uint32_t> ofV = strategiesOf(merging_, remainder_, v,
                                             use.forward ? edge.to : edge.from);
    Wide *entry = charged_.data();
    for (uint32_t s : ofU) {
      for (uint32_t t : ofV) {
        int64_t usage = use.forward ? usages.at(s, t) : usages.at(t, s);
        if (*entry != kNever) {
          *entry = exact_.add(*entry, exact_.multiply(price, usage));
        }
        ++entry;
      }
    }
  }
}

Wide TreeCheck::minimumOf(const Remainder::Variable &variable,
                          const std::vector<bool> &alive) const {
  Wide least = kNever;
  for (uint32_t s = variable.begin; s != variable.end; ++s) {
    if (alive[s]) {
      least = std::min(least, terms_[s]);
    }
  }
  return least;
}

/// Whoever takes a state pays at least `value` with the state's term in place
/// of its variable's least: no minimum of the others falls when one state is
/// forced.
void TreeCheck::fix(Wide value, std::vector<bool> &alive) {
  if (value == kNever) {
    alive.assign(alive.size(), false);
    return;
  }
  Wide cutoff = exact_.scale(*certificate_.cutoff, unitBits_);
  for (const Remainder::Variable &variable : remainder_.variables) {
    Wide rest = exact_.subtract(value, minimumOf(variable, alive));
    for (uint32_t s = variable.begin; s != variable.end; ++s) {
      if (alive[s] && exact_.add(rest, terms_[s]) >= cutoff) {
        alive[s] = false;
      }
    }
  }
}

/// Whether the children together keep all that is alive of the one variable
/// that they split.
std::optional<std::string> TreeCheck::checkCover(const Known &known) {
  uint32_t number = certificate_.tree[known.children.front()].variable;
  const Remainder::Variable &variable =
      remainder_.variables[*remainder_.find(number)];
  std::vector<uint32_t> kept;
  for (uint32_t child : known.children) {
    const BoundNode &node = certificate_.tree[child];
    if (node.variable != number) {
      return "its children split it by variables " + std::to_string(number) +
             " and " + std::to_string(node.variable);
    }
    kept.insert(kept.end(), node.kept.begin(), node.kept.end());
  }
  std::ranges::sort(kept);
  for (uint32_t s = variable.begin; s != variable.end; ++s) {
    uint32_t state = remainder_.states[s];
    if (known.alive[s] && !std::ranges::binary_search(kept, state)) {
      return "none of its children keeps state " + std::to_string(state) +
             " of variable " + std::to_string(number);
    }
  }
  return std::nullopt;
}

/// Rounded up, since costs are whole; at most the cutoff.
Expected<std::optional<Wide>> TreeCheck::leastOfLeaves() {
  Wide least = kNever;
  for (const Known &known : known_) {
    if (known.children.empty()) {
      least = std::min(least, *known.value);
    }
  }
  std::optional<Wide> bound;
  if (least != kNever) {
    Wide floor = least >> unitBits_;
    bool whole = exact_.scale(floor, unitBits_) == least;
    bound = whole ? floor : floor + 1;
  }
  if (certificate_.cutoff && (!bound || *bound > *certificate_.cutoff)) {
    bound = certificate_.cutoff;
  }
  return bound;
}

Expected<std::optional<Wide>> treeBound(Merging &merging, Remainder remainder,
                                        const Certificate &certificate) {
  return TreeCheck(merging, std::move(remainder), certificate).bound();
}

} // namespace divisi::search
