//===- Remainder.cpp - What a certificate's tree is about -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Remainder.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace divisi::search {

std::optional<uint32_t> Remainder::find(uint32_t number) const {
  auto it = std::ranges::lower_bound(variables, number, {}, &Variable::number);
  if (it == variables.end() || it->number != number) {
    return std::nullopt;
  }
  return uint32_t(it - variables.begin());
}

std::vector<uint32_t> strategiesOf(Merging &merging, const Remainder &remainder,
                                   const Remainder::Variable &variable,
                                   uint32_t node) {
  std::vector<uint32_t> taken;
  for (uint32_t state : remainder.statesOf(variable)) {
    taken.push_back(merging.strategy(node, state));
  }
  return taken;
}

static void accumulate(Wide &sum, int64_t cost) {
  if (cost >= kInfeasible) {
    sum = kNever;
  } else if (sum != kNever) {
    sum += cost;
  }
}

namespace {
class Builder {
public:
  explicit Builder(Merging &merging)
      : merging_(merging), problem_(merging.problem()) {}

  Remainder build() {
    addVariables();
    for (uint32_t i = 0; i != problem_.nodes.size(); ++i) {
      addNode(i);
    }
    for (uint32_t e = 0; e != problem_.edges.size(); ++e) {
      addEdge(e);
    }
    addPairs();
    return std::move(out_);
  }

private:
  /// An edge between two variables that are free, u < v.
  struct Crossing {
    uint32_t u, v, edge;
    bool forward;
    auto key() const { return std::tuple(u, v, edge); }
  };

  void addVariables() {
    indexOf_.resize(problem_.nodes.size());
    for (uint32_t i = 0; i != problem_.nodes.size(); ++i) {
      if (merging_.variableOf(i) != i) {
        continue;
      }
      indexOf_[i] = uint32_t(out_.variables.size());
      auto states = merging_.states(i);
      uint32_t begin = uint32_t(out_.states.size());
      out_.states.insert(out_.states.end(), states.begin(), states.end());
      out_.variables.push_back({i, begin, uint32_t(out_.states.size())});
    }
    out_.costs.assign(out_.states.size(), 0);
  }

  uint32_t indexOf(uint32_t node) {
    return indexOf_[merging_.variableOf(node)];
  }

  std::vector<uint32_t> strategies(uint32_t variable, uint32_t node) {
    return strategiesOf(merging_, out_, out_.variables[variable], node);
  }

  void addNode(uint32_t i) {
    const Node &node = problem_.nodes[i];
    uint32_t variable = indexOf(i);
    std::vector<uint32_t> taken = strategies(variable, i);
    uint32_t state = out_.variables[variable].begin;
    for (uint32_t strategy : taken) {
      accumulate(out_.costs[state++], node.costs[strategy]);
    }
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &all) {
      std::vector<int64_t> usages;
      for (uint32_t strategy : taken) {
        usages.push_back(all[strategy]);
      }
      addUse(variable, r, node, usages);
    });
  }

  /// `user` is the node or edge that uses so much.
  template <typename NodeOrEdge>
  void addUse(uint32_t variable, uint32_t resource, const NodeOrEdge &user,
              const std::vector<int64_t> &usages) {
    if (std::ranges::all_of(usages, [](int64_t use) { return use == 0; })) {
      return;
    }
    forEachLife(user, [&](Lifetime live) {
      if (live.begin != live.end) {
        out_.uses.push_back({variable, resource, live, out_.usages.size()});
      }
    });
    out_.usages.insert(out_.usages.end(), usages.begin(), usages.end());
  }

  void addEdge(uint32_t e) {
    const Edge &edge = problem_.edges[e];
    uint32_t from = indexOf(edge.from), to = indexOf(edge.to);
    if (from == to || out_.variables[from].isFixed()) {
      addEdgeOfOne(edge, to);
    } else if (out_.variables[to].isFixed()) {
      addEdgeOfOne(edge, from);
    } else {
      crossings_.push_back(
          {std::min(from, to), std::max(from, to), e, from < to});
    }
  }

  /// One whose ends both follow from the state of `variable`, as the other end
  /// is within it or fixed.
  void addEdgeOfOne(const Edge &edge, uint32_t variable) {
    std::vector<uint32_t> rows = strategiesAt(edge.from, variable);
    std::vector<uint32_t> columns = strategiesAt(edge.to, variable);
    const Matrix &costs = problem_.matrices[edge.costs];
    for (size_t s = 0; s != rows.size(); ++s) {
      accumulate(out_.costs[out_.variables[variable].begin + s],
                 costs.at(rows[s], columns[s]));
    }
    forEachUsage(edge, [&](uint32_t r, uint32_t matrix) {
      std::vector<int64_t> usages;
      for (size_t s = 0; s != rows.size(); ++s) {
        usages.push_back(problem_.matrices[matrix].at(rows[s], columns[s]));
      }
      addUse(variable, r, edge, usages);
    });
  }

  /// What `node`, a member of `variable` or of a fixed one, takes in each state
  /// of `variable`.
  std::vector<uint32_t> strategiesAt(uint32_t node, uint32_t variable) {
    uint32_t own = indexOf(node);
    std::vector<uint32_t> taken = strategies(own, node);
    if (own != variable) {
      const Remainder::Variable &v = out_.variables[variable];
      taken.assign(v.end - v.begin, uint32_t(taken.front()));
    }
    return taken;
  }

  void addPairs() {
    std::ranges::sort(crossings_, {}, &Crossing::key);
    for (size_t i = 0; i != crossings_.size();) {
      size_t end = i;
      while (end != crossings_.size() && crossings_[end].u == crossings_[i].u &&
             crossings_[end].v == crossings_[i].v) {
        ++end;
      }
      addPair(std::span(crossings_).subspan(i, end - i));
      i = end;
    }
  }

  /// What a crossing's edge takes at the states of u, and of v.
  std::pair<std::vector<uint32_t>, std::vector<uint32_t>>
  strategiesOfEnds(const Crossing &crossing) {
    const Edge &edge = problem_.edges[crossing.edge];
    return {strategies(crossing.u, crossing.forward ? edge.from : edge.to),
            strategies(crossing.v, crossing.forward ? edge.to : edge.from)};
  }

  /// Of all edges between the same two variables.
  void addPair(std::span<const Crossing> crossings) {
    auto [u, v, edge, forward] = crossings.front();
    size_t rows = out_.statesOf(out_.variables[u]).size();
    size_t columns = out_.statesOf(out_.variables[v]).size();
    // All that its entries follow from.
    std::vector<uint32_t> key;
    for (const Crossing &crossing : crossings) {
      auto [ofU, ofV] = strategiesOfEnds(crossing);
      key.push_back(problem_.edges[crossing.edge].costs);
      key.push_back(crossing.forward);
      key.push_back(uint32_t(ofU.size()));
      key.insert(key.end(), ofU.begin(), ofU.end());
      key.push_back(uint32_t(ofV.size()));
      key.insert(key.end(), ofV.begin(), ofV.end());
    }
    auto [known, isNew] =
        blockOf_.try_emplace(std::move(key), uint32_t(out_.blocks.size()));
    if (isNew) {
      out_.blocks.emplace_back(rows * columns, 0);
    }
    out_.pairs.push_back({u, v, known->second, out_.numPotentials});
    out_.numPotentials += rows + columns;
    for (const Crossing &crossing : crossings) {
      addCrossing(crossing, isNew);
    }
  }

  /// Adds to the last pair.
  void addCrossing(const Crossing &crossing, bool addsEntries) {
    const Edge &edge = problem_.edges[crossing.edge];
    if (addsEntries) {
      auto [ofU, ofV] = strategiesOfEnds(crossing);
      const Matrix &costs = problem_.matrices[edge.costs];
      Wide *entry = out_.blocks.back().data();
      for (uint32_t s : ofU) {
        for (uint32_t t : ofV) {
          accumulate(*entry++,
                     crossing.forward ? costs.at(s, t) : costs.at(t, s));
        }
      }
    }
    uint32_t pair = uint32_t(out_.pairs.size() - 1);
    forEachUsage(edge, [&](uint32_t r, uint32_t matrix) {
      forEachLife(edge, [&](Lifetime live) {
        if (live.begin != live.end) {
          out_.pairUses.push_back(
              {pair, crossing.edge, crossing.forward, r, matrix, live});
        }
      });
    });
  }

  Merging &merging_;
  const Problem &problem_;
  Remainder out_;
  std::vector<uint32_t> indexOf_; ///< By the number of a variable.
  std::vector<Crossing> crossings_;
  std::map<std::vector<uint32_t>, uint32_t> blockOf_;
};
} // namespace

Remainder buildRemainder(Merging &merging) { return Builder(merging).build(); }

} // namespace divisi::search
