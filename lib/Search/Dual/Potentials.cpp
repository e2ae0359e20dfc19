//===- Potentials.cpp - Potentials of a point of the dual -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a backward pass, v gives each pair (u, v) before it a share of its belief.
// What the pair holds then at v's end is the message from u less that share,
// and at u's end the message that v sends:
//
//   second = message u -> v - share * (hat - min hat)
//   first  = min over v's states of table - second, less the least of these
//
//===----------------------------------------------------------------------===//

#include "Potentials.h"

#include <algorithm>

namespace divisi::search {

/// The least entry of each row of `table` after `second` is taken off, shifted
/// so that the least of all is zero.
static std::vector<double> send(const Table &table,
                                const std::vector<double> &second) {
  std::vector<double> first(table.rows);
  const double *entry = table.exact.data();
  for (double &least : first) {
    least = *entry - second[0];
    for (uint32_t t = 0; t != table.columns; ++t) {
      least = std::min(least, *entry++ - second[t]);
    }
  }
  double shift = *std::ranges::min_element(first);
  for (double &least : first) {
    least -= shift;
  }
  return first;
}

/// A backward pass in double precision, in which each pair keeps its share of a
/// variable's belief as a potential instead of passing it on.
static Potentials split(const CostGraph &graph, const Lagrangian &at) {
  Messages messages = at.messages();
  Assignment taken;
  messages.forward(taken);
  Potentials potentials;
  potentials.first.resize(graph.pairs.size());
  potentials.second.resize(graph.pairs.size());
  std::vector<double> hat;
  for (uint32_t v = uint32_t(graph.variables.size()); v-- != 0;) {
    const double *costs = messages.costs().data() + messages.offset(v);
    hat.assign(costs, costs + graph.numStates(v));
    for (uint32_t p : graph.pairsOf[v]) {
      bool sent = graph.pairs[p].first == v; // By a variable visited before.
      const float *in = messages.toSecond(p);
      for (size_t s = 0; s != hat.size(); ++s) {
        hat[s] += sent ? potentials.first[p][s] : double(in[s]);
      }
    }
    double least = *std::ranges::min_element(hat);
    for (uint32_t p : graph.pairsOf[v]) {
      if (graph.pairs[p].first == v) {
        continue;
      }
      const float *in = messages.toSecond(p);
      double share = messages.share(v) * graph.pairs[p].weight;
      for (size_t s = 0; s != hat.size(); ++s) {
        potentials.second[p].push_back(in[s] - share * (hat[s] - least));
      }
      potentials.first[p] = send(at.table(p), potentials.second[p]);
    }
  }
  return potentials;
}

Potentials splitMessages(const CostGraph &graph, const DualPoint &point) {
  return split(graph, Lagrangian(graph, point));
}

/// The least entry of a pair after its potentials are taken off.
static double leastOf(const Table &table, const std::vector<double> &first,
                      const std::vector<double> &second) {
  double least = kTop;
  for (uint32_t s = 0; s != table.rows; ++s) {
    for (uint32_t t = 0; t != table.columns; ++t) {
      if (table.at(s, t) < kForbidden) {
        least = std::min(least, table.at(s, t) - first[s] - second[t]);
      }
    }
  }
  return least;
}

static double boundAt(const CostGraph &graph, const DualPoint &point,
                      const Lagrangian &at, const Potentials &potentials) {
  double bound = graph.constant;
  for (size_t t = 0; t != point.prices.size(); ++t) {
    bound -= point.prices[t] * graph.capacity[t];
  }
  for (uint32_t p = 0; p != graph.pairs.size(); ++p) {
    bound += leastOf(at.table(p), potentials.first[p], potentials.second[p]);
  }
  std::vector<double> terms;
  for (uint32_t v = 0; v != graph.variables.size(); ++v) {
    const double *costs =
        at.messages().costs().data() + at.messages().offset(v);
    terms.assign(costs, costs + graph.numStates(v));
    for (uint32_t p : graph.pairsOf[v]) {
      bool first = graph.pairs[p].first == v;
      const std::vector<double> &shifts =
          (first ? potentials.first : potentials.second)[p];
      for (size_t s = 0; s != terms.size(); ++s) {
        terms[s] += shifts[s];
      }
    }
    bound += *std::ranges::min_element(terms);
  }
  return bound;
}

double boundOf(const CostGraph &graph, const DualPoint &point) {
  Lagrangian at(graph, point);
  return boundAt(graph, point, at, split(graph, at));
}

double boundOf(const CostGraph &graph, const DualPoint &point,
               const Potentials &potentials) {
  return boundAt(graph, point, Lagrangian(graph, point), potentials);
}

} // namespace divisi::search
