//===- Pointwise.cpp - Pass-through dims of operators ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rules/Pointwise.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rewrite;

/// The loop that is this dim, if it is one whose iterations are independent.
static std::optional<LoopId> parallelLoop(const LoopNest &nest,
                                          const DimMap &dim) {
  bool isLoop = dim.kind == DimMap::Kind::Product && dim.loops.size() == 1 &&
                nest.loop(dim.loops[0]).kind == LoopKind::Parallel;
  return isLoop ? std::optional(dim.loops[0]) : std::nullopt;
}

/// Whether some dim of an operand follows from the loop in another way.
static bool isSeenOtherwise(const LoopNest &nest, LoopId loop) {
  return std::any_of(
      nest.operands.begin(), nest.operands.end(), [&](const TensorMap &map) {
        return std::any_of(
            map.dims.begin(), map.dims.end(), [&](const DimMap &dim) {
              return dim.mentions(loop) && parallelLoop(nest, dim) != loop;
            });
      });
}

/// Of each dim of each operand, the dim of the result along which it goes, with
/// the same index.
static std::vector<std::vector<std::optional<size_t>>>
dimsThrough(const LoopNest &nest) {
  std::vector<std::vector<std::optional<size_t>>> passThrough;
  const auto &results = nest.results[0].dims;
  for (const TensorMap &operand : nest.operands) {
    passThrough.emplace_back(operand.dims.size());
    for (size_t dim = 0; dim != operand.dims.size(); ++dim) {
      std::optional<LoopId> loop = parallelLoop(nest, operand.dims[dim]);
      for (size_t i = 0; loop && i != results.size(); ++i) {
        if (parallelLoop(nest, results[i]) == loop &&
            !isSeenOtherwise(nest, *loop)) {
          passThrough.back()[dim] = i;
        }
      }
    }
  }
  return passThrough;
}

bool divisi::rewrite::isElementwise(const LoopNest &nest) {
  const auto passThrough = dimsThrough(nest);
  const auto &results = nest.results[0].dims;
  bool isSo =
      std::all_of(results.begin(), results.end(), [&](const DimMap &dim) {
        return parallelLoop(nest, dim).has_value();
      });
  for (size_t operand = 0; operand != passThrough.size(); ++operand) {
    const auto &dims = passThrough[operand];
    const TensorMap &map = nest.operands[operand];
    isSo &= dims.size() <= results.size();
    for (size_t i = 0; isSo && i != dims.size(); ++i) {
      bool isRepeated = map.dims[i].kind == DimMap::Kind::Product &&
                        map.dims[i].loops.empty() && map.shape[i] == 1;
      isSo = isRepeated || dims[i] == i + results.size() - dims.size();
    }
  }
  return isSo;
}
