//===- OperandExtents.cpp - Operand extents behind a result ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Symbolic/OperandExtents.h"

#include <algorithm>
#include <optional>

using namespace divisi::rewrite;

/// Whether all of `extents`, of which there are enough, are one.
static bool isOne(const std::vector<int64_t> &extents) {
  constexpr size_t wanted = 5;
  return extents.size() >= wanted &&
         std::all_of(extents.begin(), extents.end(),
                     [&](int64_t extent) { return extent == extents[0]; });
}

std::vector<bool> divisi::rewrite::extentsBehind(
    const Node &node, size_t result, const std::vector<TensorForm> &operands,
    const Assignment &assignment, const TypeChoice &types,
    Instantiator &instantiator) {
  constexpr int most = 8;
  Rule rule;
  Node only = node;
  for (size_t i = 0; i != operands.size(); ++i) {
    only.operands[i] = "x" + std::to_string(i);
    rule.variables.push_back({});
    rule.variables.back().name = only.operands[i];
  }
  rule.source = {{only}, {only.name}, {}};
  std::vector<bool> behind;
  for (size_t i = 0; i != operands.size(); ++i) {
    for (size_t dim = 0; dim != operands[i].dims.size(); ++dim) {
      std::vector<TensorForm> changed = operands;
      std::vector<int64_t> extents;
      // Steps that no stride that is drawn hides.
      for (int step = 0; step != most; ++step) {
        changed[i].dims[dim] =
            operands[i].dims[dim] + (step == 0 ? 0 : int64_t(1) << step);
        auto made = instantiator.instantiate(rule, rule.source, changed,
                                             assignment, types);
        if (made) {
          extents.push_back(made->calls[0].result.dims[result]);
        }
      }
      behind.push_back(!isOne(extents));
    }
  }
  return behind;
}
