//===- Arithmetic.cpp - What computing takes, without memory --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Arithmetic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace divisi {

static bool isMade(const LoopNest &nest, LoopId loop) {
  return llvm::any_of(nest.results, [&](const TensorMap &result) {
    return result.mentions(loop);
  });
}

/// How many operands depend on `loop`.
static int64_t countReaders(const LoopNest &nest, LoopId loop) {
  return llvm::count_if(nest.operands, [&](const TensorMap &operand) {
    return operand.mentions(loop);
  });
}

bool isProduct(const LoopNest &nest) {
  if (nest.flopsPerPoint == 0) {
    return false;
  }
  for (uint32_t index = 0; index != nest.loops.size(); ++index) {
    LoopId loop{index};
    if (!isMade(nest, loop) && countReaders(nest, loop) >= 2) {
      return true;
    }
  }
  return false;
}

/// How many operands depend on `loop` of those that depend on an exchanged one:
/// of an attention the keys, the values and a mask.
static int64_t countExchanging(const LoopNest &nest, LoopId loop) {
  return llvm::count_if(nest.operands, [&](const TensorMap &operand) {
    return operand.mentions(loop) &&
           llvm::any_of(llvm::seq<uint32_t>(0, nest.loops.size()),
                        [&](uint32_t index) {
                          return nest.loops[index].kind == LoopKind::Exchange &&
                                 operand.mentions(LoopId{index});
                        });
  });
}

static bool hasExchange(const LoopNest &nest) {
  return llvm::any_of(nest.loops, [](const Loop &loop) {
    return loop.kind == LoopKind::Exchange;
  });
}

double vectorShare(const LoopNest &nest) {
  if (!isProduct(nest)) {
    return 1;
  }
  if (!hasExchange(nest)) {
    return 0;
  }
  // Of a weight, as nn.attention counts: 14, and two for each multiplication.
  constexpr double functions = 14;
  double products = 0;
  for (const Loop &loop : nest.loops) {
    products += loop.kind == LoopKind::Whole ? 2 * double(loop.extent) : 0;
  }
  return functions / (functions + products);
}

int64_t startedProducts(const LoopNest &nest, const Grid &grid,
                        const Split &split, const GridPart &part) {
  if (!isProduct(nest)) {
    return 0;
  }
  // A kernel of one product does its whole batch.
  int64_t count = 1;
  for (uint32_t index = 0; index != nest.loops.size(); ++index) {
    LoopId loop{index};
    if (isMade(nest, loop) && countExchanging(nest, loop) >= 2) {
      count *= largestShard(nest, grid, split, loop, part);
    }
  }
  return (count + 1) / 2;
}

double arithmeticSeconds(double flops, double share, double peak,
                         double vectorRate) {
  return share == 0 || vectorRate == peak
             ? flops / peak
             : (1 - share) * flops / peak + share * flops / vectorRate;
}

} // namespace divisi
