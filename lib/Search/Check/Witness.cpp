//===- Witness.cpp - Looks up why a strategy was pruned -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Witness.h"

#include <algorithm>
#include <set>

namespace divisi::search {

using Wrong = std::optional<std::string>;

namespace {
/// Looks one witness up.
class Look {
public:
  Look(const Problem &problem, const Witness &witness)
      : problem_(problem), witness_(witness) {}

  Wrong find() const {
    const Node &node = problem_.nodes[witness_.node];
    if (node.costs[witness_.pruned] >= kInfeasible) {
      return std::nullopt; // No assignment takes it.
    }
    if (Wrong wrong =
            costs(node.costs[witness_.by], node.costs[witness_.pruned], "")) {
      return wrong;
    }
    Wrong wrong;
    forEachUsage(node, [&](uint32_t r, const std::vector<int64_t> &usages) {
      if (!wrong) {
        wrong = uses(usages[witness_.by], usages[witness_.pruned],
                     ofResource(problem_, r));
      }
    });
    for (size_t e = 0; e != problem_.edges.size() && !wrong; ++e) {
      wrong = edge(e);
    }
    return wrong;
  }

private:
  static Wrong costs(int64_t by, int64_t pruned, const std::string &where) {
    return by <= pruned || pruned >= kInfeasible
               ? Wrong()
               : "it costs " + std::to_string(by) + where +
                     ", the one that it replaces " + std::to_string(pruned);
  }
  static Wrong uses(int64_t by, int64_t pruned, const std::string &where) {
    return by <= pruned
               ? Wrong()
               : "it uses " + std::to_string(by) + where +
                     ", the one that it replaces " + std::to_string(pruned);
  }

  /// Both at one state of the other end, or both at both ends.
  Wrong edge(size_t e) const {
    const Edge &edge = problem_.edges[e];
    bool from = edge.from == witness_.node, to = edge.to == witness_.node;
    const Matrix &matrix = problem_.matrices[edge.costs];
    uint32_t states = from && to ? 1 : from ? matrix.columns : matrix.rows;
    for (uint32_t t = 0; (from || to) && t != states; ++t) {
      auto entry = [&](const Matrix &entries, uint32_t s) {
        return entries.at(from ? s : t, to ? s : t);
      };
      auto both = [&](uint32_t index) {
        const Matrix &entries = problem_.matrices[index];
        return std::pair(entry(entries, witness_.by),
                         entry(entries, witness_.pruned));
      };
      std::string where =
          " on edge " + std::to_string(e) + " at state " + std::to_string(t);
      auto [by, pruned] = both(edge.costs);
      Wrong wrong = costs(by, pruned, where);
      forEachUsage(edge, [&](uint32_t r, uint32_t index) {
        auto [most, allowed] = both(index);
        if (!wrong && pruned < kInfeasible) {
          wrong = uses(most, allowed, ofResource(problem_, r) + where);
        }
      });
      if (wrong) {
        return wrong;
      }
    }
    return std::nullopt;
  }

  const Problem &problem_;
  const Witness &witness_;
};
} // namespace

Wrong checkWitness(const Problem &problem, const Witness &witness) {
  auto [node, pruned, by] = witness;
  if (node >= problem.nodes.size()) {
    return "a witness is of node " + std::to_string(node) + ", of " +
           std::to_string(problem.nodes.size());
  }
  size_t count = problem.nodes[node].costs.size();
  if (std::max(pruned, by) >= count) {
    return "a witness of node " + std::to_string(node) +
           " speaks of strategy " + std::to_string(std::max(pruned, by)) +
           ", of " + std::to_string(count);
  }
  std::string what = "strategy " + std::to_string(by) + " of node " +
                     std::to_string(node) + " cannot replace " +
                     std::to_string(pruned) + ": ";
  if (pruned == by) {
    return what + "they are the same";
  }
  Wrong wrong = Look(problem, witness).find();
  return wrong ? what + *wrong : wrong;
}

Wrong checkWitnesses(const Problem &problem,
                     std::span<const Witness> witnesses) {
  std::set<std::pair<uint32_t, uint32_t>> gone;
  for (const Witness &witness : witnesses) {
    if (Wrong wrong = checkWitness(problem, witness)) {
      return wrong;
    }
    for (uint32_t strategy : {witness.pruned, witness.by}) {
      if (gone.contains({witness.node, strategy})) {
        return "a witness of node " + std::to_string(witness.node) +
               " speaks of strategy " + std::to_string(strategy) +
               ", which is gone already";
      }
    }
    gone.insert({witness.node, witness.pruned});
  }
  return std::nullopt;
}

} // namespace divisi::search
