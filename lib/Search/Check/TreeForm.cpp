//===- TreeForm.cpp - The form of a certificate's tree --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeForm.h"

#include <algorithm>

namespace divisi::search {

using Wrong = std::optional<std::string>;

static Wrong checkScales(const Certificate &certificate) {
  int32_t price = certificate.priceBits, potential = certificate.potentialBits;
  if (price < -60 || price > 60 || potential < -60 || potential > 60) {
    return "price bits " + std::to_string(price) + " and potential bits " +
           std::to_string(potential) + " must be within -60 and 60";
  }
  if (potential > price) {
    return "potential bits " + std::to_string(potential) +
           " are more than the price bits " + std::to_string(price);
  }
  return std::nullopt;
}

/// Where a node stands, by `index`, and which states it keeps.
static Wrong checkSplit(const Remainder &remainder, const BoundNode &node,
                        size_t index) {
  if (index == 0) {
    if (node.parent != -1) {
      return "the first must be the root, not a child of node " +
             std::to_string(node.parent);
    }
    return node.kept.empty() && node.variable == 0
               ? Wrong()
               : "the root has all states, it cannot keep some of variable " +
                     std::to_string(node.variable);
  }
  if (node.parent < 0 || size_t(node.parent) >= index) {
    return "its parent " + std::to_string(node.parent) +
           " is not an earlier node; only the first is a root";
  }
  std::string variable = "variable " + std::to_string(node.variable);
  std::optional<uint32_t> found = remainder.find(node.variable);
  if (!found) {
    return variable + ", by which its parent is split, is none that the steps "
                      "left";
  }
  if (std::ranges::adjacent_find(node.kept, std::greater_equal()) !=
      node.kept.end()) {
    return "the states that it keeps are not sorted, or one comes twice";
  }
  auto states = remainder.statesOf(remainder.variables[*found]);
  for (uint32_t state : node.kept) {
    if (!std::ranges::binary_search(states, state)) {
      return "it keeps state " + std::to_string(state) + " of " + variable +
             ", which the steps did not leave";
    }
  }
  return std::nullopt;
}

/// Prices are what makes a bound valid: none may be below zero, none without a
/// limit, and no time may come twice.
static Wrong checkPrices(const Problem &problem, const BoundNode &node) {
  auto key = [](const MemoryPrice &price) {
    return std::pair(price.resource, price.time);
  };
  for (size_t i = 0; i != node.prices.size(); ++i) {
    MemoryPrice price = node.prices[i];
    if (price.resource >= problem.numResources()) {
      return "it has a price of resource " + std::to_string(price.resource) +
             ", of " + std::to_string(problem.numResources());
    }
    std::string of = ofResource(problem, price.resource);
    if (!problem.limitOf(price.resource)) {
      return "it has prices of memory" + of + ", but the problem has no limit" +
             (of.empty() ? "" : " of that");
    }
    if (price.price < 0) {
      return "the price " + std::to_string(price.price) + " at time " +
             std::to_string(price.time) + of + " is below zero";
    }
    if (i != 0 && key(node.prices[i - 1]) >= key(price)) {
      return "the prices are not sorted by " +
             std::string(of.empty() ? "" : "resource and ") + "time, or time " +
             std::to_string(price.time) + of + " comes twice";
    }
  }
  return std::nullopt;
}

/// As many numbers as the remainder asks for, and only where a node bounds.
static Wrong checkNumbers(const Problem &problem, const Remainder &remainder,
                          const Certificate &certificate,
                          const BoundNode &node) {
  if (!node.bounds) {
    return node.prices.empty() && node.potentials.empty() && !node.fixes
               ? Wrong()
               : "it has prices or potentials, or fixes, but does not bound";
  }
  if (node.fixes && !certificate.cutoff) {
    return "it fixes states, but the certificate has no cutoff";
  }
  if (node.potentials.size() != remainder.numPotentials) {
    return "it has " + std::to_string(node.potentials.size()) +
           " potentials, expected " + std::to_string(remainder.numPotentials) +
           " for " + std::to_string(remainder.pairs.size()) + " pairs";
  }
  return checkPrices(problem, node);
}

Wrong checkTreeForm(const Problem &problem, const Remainder &remainder,
                    const Certificate &certificate) {
  if (Wrong wrong = checkScales(certificate)) {
    return wrong;
  }
  for (size_t i = 0; i != certificate.tree.size(); ++i) {
    const BoundNode &node = certificate.tree[i];
    Wrong wrong = checkSplit(remainder, node, i);
    if (!wrong) {
      wrong = checkNumbers(problem, remainder, certificate, node);
    }
    if (wrong) {
      return "node " + std::to_string(i) + " of the tree: " + *wrong;
    }
  }
  return std::nullopt;
}

} // namespace divisi::search
