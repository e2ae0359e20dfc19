//===- Blocks.h - Problems of blocks that are alike -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_BLOCKS_H
#define DIVISI_TEST_SEARCH_BLOCKS_H

#include "RandomProblems.h"

#include "divisi/Search/Solvers.h"

namespace divisi::search {

/// A problem and which of its nodes are alike.
struct Blocks {
  Problem problem; ///< Without a limit.
  Ties ties;       ///< Each node to that of the first block.
};

/// `count` blocks in a chain, each of a weight, which lives throughout, and
/// `width` operators, which live until they are met again on the way back. The
/// blocks are equal; the costs of one are random.
inline Blocks blocksOf(uint32_t count, uint32_t width, uint32_t choices,
                       uint64_t seed) {
  Dice dice(seed);
  Blocks blocks;
  Problem &problem = blocks.problem;
  uint32_t size = width + 1;
  auto end = int64_t(2 * count * size);
  std::vector<Node> block(size);
  for (uint32_t i = 0; i != size; ++i) {
    for (uint32_t s = 0; s != choices; ++s) {
      // Who pays less keeps more.
      block[i].costs.push_back(int64_t(100 * s + dice.below(80)));
      block[i].usages.push_back(int64_t((choices - s) * 60 + dice.below(40)));
    }
  }
  for (uint32_t i = 0; i != 2 * size; ++i) {
    Matrix &matrix = problem.matrices.emplace_back();
    matrix.rows = matrix.columns = choices;
    for (uint32_t s = 0; s != choices; ++s) {
      for (uint32_t t = 0; t != choices; ++t) {
        matrix.entries.push_back(s == t ? 0 : int64_t(dice.below(300)));
      }
    }
  }
  for (uint32_t b = 0; b != count; ++b) {
    for (uint32_t i = 0; i != size; ++i) {
      uint32_t v = b * size + i;
      Node &node = problem.nodes.emplace_back(block[i]);
      node.live = i == 0 ? Lifetime{0, end} : Lifetime{v, end - v};
      blocks.ties.leader.push_back(i);
      if (i > 1) {
        problem.edges.push_back({v - 1, v, i, {}, {}});
      }
      if (i > 0) {
        problem.edges.push_back({b * size, v, size + i, {}, {}});
      }
    }
    if (b != 0) {
      problem.edges.push_back({b * size - 1, b * size + 1, 0, {}, {}});
    }
  }
  return blocks;
}

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_BLOCKS_H
