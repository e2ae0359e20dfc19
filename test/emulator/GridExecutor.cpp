//===- GridExecutor.cpp - Runs kernels thread by thread -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/GridExecutor.h"

#include <algorithm>
#include <cstring>

#include <ucontext.h>

using namespace divisi;
using namespace divisi::emulator;

static constexpr uint32_t warpSize = 32;
static constexpr size_t stackBytes = 16 << 10;
/// What a block may share; more than kernels here ask for.
static constexpr uint64_t sharedBytes = 16 << 10;

enum class Waits : uint8_t { Nothing, Barrier, Shuffle, Ended };

/// One of a block.
struct GridExecutor::Thread {
  Block *block = nullptr;
  uint32_t number = 0;
  ucontext_t context = {};
  Waits waits = Waits::Nothing;
  uint32_t bits = 0, offset = 0; ///< Of a shuffle.
  uint32_t barriers = 0;         ///< That it has come to.
};

/// One that runs.
struct GridExecutor::Block {
  GridExecutor &executor;
  EmulatedFunction kernel;
  const void *const *parameters;
  const LaunchShape &shape;
  uint32_t number;
  uint32_t epoch = 0; ///< How many barriers have been passed.
  ucontext_t scheduler = {};
  std::vector<Thread> &threads = executor.threads_;
  std::vector<std::byte> &shared = executor.shared_;
  AccessLog sharedLog = {};
  std::optional<std::string> wrong = {};
  uint64_t waste = 0; ///< Where an access that is wrong goes.

  std::optional<std::string> run();

private:
  friend class GridExecutor;
  void begin(Thread &thread, uint32_t own);
  void goOn(Thread &thread);
  bool release();
  bool releaseWarp(size_t first);
  void fail(std::string what) {
    if (!wrong) {
      wrong = std::move(what);
    }
  }

  static Thread &at(void *thread) { return *static_cast<Thread *>(thread); }
  static void wait(Thread &thread, Waits what);
  static uint64_t position(void *thread, uint32_t which);
  static void barrier(void *thread);
  static uint32_t shuffle(void *thread, uint32_t bits, uint32_t offset);
  static void *share(void *thread) { return at(thread).block->shared.data(); }
  static void *access(void *thread, void *address, uint64_t bytes,
                      uint32_t writes);
  static void enter(uint32_t high, uint32_t low);

  static constexpr EmulatedGrid table = {position, barrier, shuffle, share,
                                         access};
};

void GridExecutor::Block::wait(Thread &thread, Waits what) {
  thread.waits = what;
  swapcontext(&thread.context, &thread.block->scheduler);
}

uint64_t GridExecutor::Block::position(void *thread, uint32_t which) {
  const Thread &own = at(thread);
  const LaunchShape &shape = own.block->shape;
  switch (which) {
  case EmulatedGrid::ThreadX:
    return own.number % shape.blockX;
  case EmulatedGrid::ThreadY:
    return own.number / shape.blockX;
  case EmulatedGrid::BlockSizeX:
    return shape.blockX;
  case EmulatedGrid::BlockSizeY:
    return shape.blockY;
  case EmulatedGrid::BlockX:
    return own.block->number % shape.gridX;
  case EmulatedGrid::BlockY:
    return own.block->number / shape.gridX;
  case EmulatedGrid::GridSizeX:
    return shape.gridX;
  default:
    return shape.gridY;
  }
}

void GridExecutor::Block::barrier(void *thread) {
  Thread &own = at(thread);
  if (own.barriers++ != own.block->executor.dropped_) {
    wait(own, Waits::Barrier);
  }
}

uint32_t GridExecutor::Block::shuffle(void *thread, uint32_t bits,
                                      uint32_t offset) {
  Thread &own = at(thread);
  own.bits = bits;
  own.offset = offset;
  wait(own, Waits::Shuffle);
  return own.bits;
}

void *GridExecutor::Block::access(void *thread, void *address, uint64_t bytes,
                                  uint32_t writes) {
  Block &block = *at(thread).block;
  auto number = reinterpret_cast<uint64_t>(address);
  auto begin = reinterpret_cast<uint64_t>(block.shared.data());
  bool isShared = number >= begin && number + bytes <= begin + sharedBytes;
  void *found =
      isShared ? address : block.executor.memory_(number, bytes);
  if (number % bytes != 0) {
    block.fail("an access of " + std::to_string(bytes) +
               " bytes is not aligned to them");
  }
  if (!found) {
    block.fail("thread " + std::to_string(at(thread).number) + " of block " +
               std::to_string(block.number) +
               (writes ? " writes " : " reads ") + std::to_string(bytes) +
               " bytes that nobody has allocated");
    return &block.waste;
  }
  AccessLog &log = isShared ? block.sharedLog : block.executor.log_;
  auto wrong = log.note(number, bytes, writes != 0,
                        {block.number, at(thread).number, block.epoch});
  if (wrong) {
    block.fail(*wrong);
  }
  return found;
}

/// makecontext() hands on numbers of 32 bits.
void GridExecutor::Block::enter(uint32_t high, uint32_t low) {
  auto *thread = reinterpret_cast<Thread *>(uint64_t(high) << 32 | low);
  Block &block = *thread->block;
  block.kernel(&table, thread, block.parameters);
  wait(*thread, Waits::Ended);
}

void GridExecutor::Block::begin(Thread &thread, uint32_t own) {
  thread.block = this;
  thread.number = own;
  thread.waits = Waits::Nothing;
  thread.barriers = 0;
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = executor.stacks_.data() + thread.number * stackBytes;
  thread.context.uc_stack.ss_size = stackBytes;
  auto number = reinterpret_cast<uint64_t>(&thread);
  makecontext(&thread.context, reinterpret_cast<void (*)()>(enter), 2,
              uint32_t(number >> 32), uint32_t(number));
}

void GridExecutor::Block::goOn(Thread &thread) {
  swapcontext(&scheduler, &thread.context);
}

/// Lets the threads of a warp that have all come to a shuffle exchange.
bool GridExecutor::Block::releaseWarp(size_t first) {
  size_t end = std::min(first + warpSize, threads.size());
  uint32_t offset = threads[first].offset;
  std::vector<uint32_t> all;
  for (size_t t = first; t < end; ++t) {
    if (threads[t].waits != Waits::Shuffle || threads[t].offset != offset) {
      return false;
    }
    all.push_back(threads[t].bits);
  }
  for (size_t t = first; t < end; ++t) {
    size_t other = (t - first) ^ offset;
    threads[t].bits = other < all.size() ? all[other] : 0xdeadbeef;
    threads[t].waits = Waits::Nothing;
  }
  return true;
}

/// Lets go on who has come together; false if nobody can.
bool GridExecutor::Block::release() {
  bool isAny = false;
  for (size_t first = 0; first < threads.size(); first += warpSize) {
    isAny |= releaseWarp(first);
  }
  auto isAtBarrier = [](const Thread &thread) {
    return thread.waits == Waits::Barrier;
  };
  if (!isAny && std::all_of(threads.begin(), threads.end(), isAtBarrier)) {
    ++epoch;
    for (Thread &thread : threads) {
      thread.waits = Waits::Nothing;
    }
    isAny = true;
  }
  return isAny;
}

GridExecutor::GridExecutor(Memory memory) : memory_(std::move(memory)) {}
GridExecutor::~GridExecutor() = default;

std::optional<std::string> GridExecutor::Block::run() {
  threads.resize(shape.threads());
  executor.stacks_.resize(threads.size() * stackBytes);
  // What a kernel does not write it must not read.
  shared.assign(sharedBytes, std::byte(0xff));
  for (uint32_t t = 0; t < threads.size(); ++t) {
    begin(threads[t], t);
  }
  while (!wrong) {
    std::vector<Thread *> ready;
    size_t ended = 0;
    for (Thread &thread : threads) {
      if (thread.waits == Waits::Nothing) {
        ready.push_back(&thread);
      }
      ended += thread.waits == Waits::Ended;
    }
    if (ended == threads.size()) {
      return wrong;
    }
    if (ready.empty() && !release()) {
      fail("threads of block " + std::to_string(number) +
           " wait for a barrier or a shuffle to which others do not come");
    }
    std::shuffle(ready.begin(), ready.end(), executor.random_);
    for (Thread *thread : ready) {
      goOn(*thread);
    }
  }
  return wrong;
}

std::optional<std::string>
GridExecutor::runBlock(EmulatedFunction kernel, const void *const *parameters,
                       const LaunchShape &shape, uint32_t number) {
  return Block{*this, kernel, parameters, shape, number}.run();
}

std::optional<std::string>
GridExecutor::run(EmulatedFunction kernel, const void *const *parameters,
                  const LaunchShape &shape) {
  log_.clear();
  std::vector<uint32_t> order(shape.blocks());
  for (uint32_t b = 0; b < order.size(); ++b) {
    order[b] = b;
  }
  std::shuffle(order.begin(), order.end(), random_);
  for (uint32_t block : order) {
    if (auto wrong = runBlock(kernel, parameters, shape, block)) {
      return wrong;
    }
  }
  return std::nullopt;
}
