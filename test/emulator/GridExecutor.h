//===- GridExecutor.h - Runs kernels thread by thread -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that was made for the host (EmulatedGrid.h), on blocks of threads of
// which one runs at a time. Which one goes on is drawn at random, wherever a
// thread waits for others, so that one seed is one interleaving.
//
// What is found: bytes that nobody may touch; bytes that two threads touch, one
// of them writing, with no barrier between; threads that wait for a barrier or
// a shuffle, or a product, to which others do not come.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_GRIDEXECUTOR_H
#define DIVISI_TEST_EMULATOR_GRIDEXECUTOR_H

#include "lib/Codegen/EmulatedGrid.h"
#include "test/emulator/AccessLog.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>

namespace divisi::emulator {

/// How a kernel is launched.
struct LaunchShape {
  uint32_t gridX = 1, gridY = 1, blockX = 1, blockY = 1;

  uint32_t blocks() const { return gridX * gridY; }
  uint32_t threads() const { return blockX * blockY; }
};

/// Addresses of a device that were allocated together, and their bytes.
struct MemoryRange {
  uint64_t begin = 0, end = 0;
  std::byte *data = nullptr;
};

/// See the file's head.
class GridExecutor {
public:
  /// The range that has the address, which stays while a kernel runs; an empty
  /// one if there is none.
  using Memory = std::function<MemoryRange(uint64_t address)>;

  explicit GridExecutor(Memory memory);
  ~GridExecutor();

  /// Begins another sequence of interleavings.
  void seed(uint64_t seed) { random_.seed(seed); }

  /// Does all of a launch; what is wrong with it, if something is. Then not all
  /// of it has been done.
  std::optional<std::string> run(EmulatedFunction kernel,
                                 const void *const *parameters,
                                 const LaunchShape &shape);
  /// Lets each thread of the kernels to come go past its barrier number
  /// `number`, as if it was not there.
  void dropBarrier(uint32_t number) { dropped_ = number; }
  /// What the last kernel touched.
  const AccessLog &log() const { return log_; }

private:
  struct Thread;
  struct Block;

  std::optional<std::string> runBlock(EmulatedFunction kernel,
                                      const void *const *parameters,
                                      const LaunchShape &shape,
                                      uint32_t number);
  std::byte *find(uint64_t address, uint64_t bytes);

  Memory memory_;
  std::vector<MemoryRange> ranges_; ///< That the kernel has touched.
  std::mt19937_64 random_;
  // Of the block that runs; kept, since there are many.
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::byte> shared_;
  AccessLog log_, sharedLog_;
  uint32_t dropped_ = ~0U;
};

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_GRIDEXECUTOR_H
