//===- BufferBlocks.h - Lifetimes of buffers --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer is live from the step that writes it to the last one that reads it.
// If a step may write its result over an operand that is dead afterwards, both
// become one block:
//
//   0  call "nn.matmul"(%x, %w) into (%a)     %a: [0, 2)  ┐ one block [0, 3)
//   1  call "nn.relu"(%a) into (%b)           %b: [1, 3)  ┘
//   2  output 0 %b
//
// In a program that overlaps, a buffer read by another queue is live until a
// step of the first queue comes after the read: reusing its bytes earlier would
// make that step wait. For a send nothing waits, so what it reads is live until
// two more are sent on its queue; whose bytes are written then, comes after it.
//
//   0  call … into (%a)                       %a: [0, 4), not [0, 2)
//   1  collective "all_reduce" %a into %b
//   2  call … into (%c)                       beside the all-reduce
//   3  call … into (%d)                       beside the all-reduce
//   4  call … (%b, %d) into (%e)              after the all-reduce
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_MEMORY_BUFFERBLOCKS_H
#define DIVISI_MEMORY_BUFFERBLOCKS_H

#include "divisi/Memory/ArenaPlanner.h"

#include <cstddef>

namespace divisi {

/// One place in the list of a program, and the buffers that it touches.
struct BufferStep {
  std::vector<size_t> reads, writes; ///< Buffers; reads with repetitions.
  /// Of `reads`, those over which it may write its only result.
  std::vector<size_t> inPlace;
  size_t queue = 0;                 ///< 0 is the queue of the operators.
  bool readsAtEnd = false;          ///< When the program has ended.
  std::vector<size_t> scratch = {}; ///< Buffers that no other step touches.
  bool isSend = false; ///< To other programs alone: no step waits for it.
};

/// Blocks of buffers, in the order in which they are needed first.
struct BufferBlocks {
  /// Stands for the block of a buffer that nobody touches.
  static constexpr size_t none = size_t(-1);
  std::vector<ArenaBlock> blocks;
  std::vector<size_t> blockOf; ///< Per buffer.
  size_t numInPlace = 0;       ///< Results that lie over an operand.
};

/// Of the buffers of `steps`, which have so many `bytes`.
BufferBlocks blocksOf(std::span<const BufferStep> steps,
                      std::span<const int64_t> bytes, bool overlaps);

} // namespace divisi

#endif // DIVISI_MEMORY_BUFFERBLOCKS_H
