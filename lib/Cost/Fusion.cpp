//===- Fusion.cpp - Operators in one kernel -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Fusion.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi {

/// Whether each element is made in one place: no window of another's.
static bool isMadeOnce(const TensorMap &result) {
  return llvm::all_of(result.dims, [](const DimMap &dim) {
    return dim.kind == DimMap::Kind::Product;
  });
}

/// The loop behind each dimension of more than one index, if it is one loop,
/// iteration for index.
static std::optional<llvm::SmallVector<LoopId, 4>>
loopPerDim(const TensorMap &tensor) {
  llvm::SmallVector<LoopId, 4> loops;
  for (auto [dim, extent] : llvm::zip_equal(tensor.dims, tensor.shape)) {
    if (extent == 1) {
      continue;
    }
    if (dim.kind != DimMap::Kind::Product || dim.loops.size() != 1) {
      return std::nullopt;
    }
    loops.push_back(dim.loops.front());
  }
  return loops;
}

/// Whether each iteration makes one element of each result from the element of
/// operand `index` that stands at the same place. No other one uses it, since
/// results have all parallel loops.
static bool isElementwise(const LoopNest &nest, unsigned index) {
  auto read = loopPerDim(nest.operands[index]);
  return read &&
         llvm::all_of(nest.loops,
                      [](const Loop &loop) {
                        return loop.kind == LoopKind::Parallel;
                      }) &&
         llvm::all_of(nest.results, [&](const TensorMap &result) {
           return loopPerDim(result) == read;
         });
}

bool fuses(const LoopNest &producer, unsigned result, const LoopNest &consumer,
           unsigned operand) {
  return producer.results[result].shape == consumer.operands[operand].shape &&
         isMadeOnce(producer.results[result]) &&
         isElementwise(consumer, operand);
}

} // namespace divisi
