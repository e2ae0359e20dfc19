//===- GridExecutor.cpp - Runs kernels thread by thread -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A thread goes on where it has stopped by longjmp() to a stack of its own.
// What checks that jumps lead outwards on one stack has to be off.
#undef _FORTIFY_SOURCE

#include "test/emulator/GridExecutor.h"
#include "divisi/runtime/kernels/Element.h"

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>

#include <ucontext.h>

using namespace divisi;
using namespace divisi::emulator;

static constexpr uint32_t warpSize = 32;
static constexpr size_t stackBytes = 16 << 10;
/// What a block may share; more than kernels here ask for.
static constexpr uint64_t sharedBytes = 48 << 10;

enum class Waits : uint8_t { Nothing, Barrier, Shuffle, Product, Ended };

/// One of a block, with a stack that threads of other blocks have after it.
struct GridExecutor::Thread {
  Block *block = nullptr;
  Waits waits = Waits::Ended;
  bool isStarted = false; ///< Whether `place` is somewhere.
  uint32_t number = 0;
  uint32_t bits = 0, offset = 0; ///< Of a shuffle.
  uint32_t *words = nullptr;     ///< Of a product.
  bool isBFloat = false;
  uint32_t barriers = 0;      ///< That it has come to.
  uint64_t positions[8] = {}; ///< As EmulatedGrid::Position counts them.
  jmp_buf place = {};         ///< Where it goes on.
  std::unique_ptr<std::byte[]> stack{new std::byte[stackBytes]};
};

/// One that runs.
struct GridExecutor::Block {
  GridExecutor &executor;
  EmulatedFunction kernel;
  const void *const *parameters;
  const LaunchShape &shape;
  uint32_t number;
  uint32_t epoch = 0; ///< How many barriers have been passed.
  jmp_buf scheduler = {};
  uint64_t sharedBegin = reinterpret_cast<uint64_t>(executor.shared_.data());
  std::vector<Thread *> threads = {};
  std::optional<std::string> wrong = {};
  uint64_t waste = 0; ///< Where an access that is wrong goes.

  std::optional<std::string> run();

private:
  friend class GridExecutor;
  void begin(Thread &thread, uint32_t own);
  void goOn(Thread &thread);
  bool release();
  bool releaseWarp(size_t first);
  bool releaseProduct(size_t first);
  void fail(std::string what) {
    if (!wrong) {
      wrong = std::move(what);
    }
  }

  static Thread &at(void *thread) { return *static_cast<Thread *>(thread); }
  static void wait(Thread &thread, Waits what);
  static uint64_t position(void *thread, uint32_t which) {
    return at(thread).positions[which];
  }
  static void barrier(void *thread);
  static uint32_t shuffle(void *thread, uint32_t bits, uint32_t offset);
  static void multiply(void *thread, uint32_t *words, uint32_t isBFloat);
  static void *share(void *thread) {
    return reinterpret_cast<void *>(at(thread).block->sharedBegin);
  }
  static void *access(void *thread, void *address, uint64_t bytes,
                      uint32_t writes);
  void *notAllocated(const Thread &thread, uint64_t bytes, bool writes);
  static void enter(uint32_t high, uint32_t low);

  static constexpr EmulatedGrid table = {position, barrier, shuffle,
                                         share,    access,  multiply};
};

void GridExecutor::Block::wait(Thread &thread, Waits what) {
  thread.waits = what;
  if (_setjmp(thread.place) == 0) {
    _longjmp(thread.block->scheduler, 1);
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

void GridExecutor::Block::multiply(void *thread, uint32_t *words,
                                   uint32_t isBFloat) {
  Thread &own = at(thread);
  own.words = words;
  own.isBFloat = isBFloat != 0;
  wait(own, Waits::Product);
}

void *GridExecutor::Block::notAllocated(const Thread &thread, uint64_t bytes,
                                        bool writes) {
  fail("thread " + std::to_string(thread.number) + " of block " +
       std::to_string(number) + (writes ? " writes " : " reads ") +
       std::to_string(bytes) + " bytes that nobody has allocated");
  return &waste;
}

void *GridExecutor::Block::access(void *thread, void *address, uint64_t bytes,
                                  uint32_t writes) {
  const Thread &own = at(thread);
  Block &block = *own.block;
  auto number = reinterpret_cast<uint64_t>(address);
  bool isShared = number - block.sharedBegin <= sharedBytes - bytes;
  void *found = isShared ? address : block.executor.find(number, bytes);
  if (!found) {
    return block.notAllocated(own, bytes, writes != 0);
  }
  if (number % bytes != 0) {
    block.fail("an access of " + std::to_string(bytes) +
               " bytes is not aligned to them");
  }
  AccessLog &log = isShared ? block.executor.sharedLog_ : block.executor.log_;
  if (!log.note(number, bytes, writes != 0,
                {block.number, block.epoch, own.number})) {
    block.fail(log.wrong());
  }
  return found;
}

/// Where a stack begins: one thread after the other. makecontext() hands on
/// numbers of 32 bits.
void GridExecutor::Block::enter(uint32_t high, uint32_t low) {
  auto *thread = reinterpret_cast<Thread *>(uint64_t(high) << 32 | low);
  for (;;) {
    Block &block = *thread->block;
    block.kernel(&table, thread, block.parameters);
    wait(*thread, Waits::Ended);
  }
}

void GridExecutor::Block::begin(Thread &thread, uint32_t own) {
  // Who was left somewhere in a kernel begins anew.
  thread.isStarted &= thread.waits == Waits::Ended;
  thread.block = this;
  thread.number = own;
  thread.waits = Waits::Nothing;
  thread.barriers = 0;
  const uint64_t positions[] = {
      own % shape.blockX,   own / shape.blockX,   shape.blockX, shape.blockY,
      number % shape.gridX, number / shape.gridX, shape.gridX,  shape.gridY};
  std::copy(std::begin(positions), std::end(positions), thread.positions);
}

/// A context is made for the first time only: to switch to one costs two calls
/// of the system.
void GridExecutor::Block::goOn(Thread &thread) {
  if (_setjmp(scheduler) != 0) {
    return;
  }
  if (thread.isStarted) {
    _longjmp(thread.place, 1);
  }
  thread.isStarted = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = thread.stack.get();
  context.uc_stack.ss_size = stackBytes;
  auto number = reinterpret_cast<uint64_t>(&thread);
  makecontext(&context, reinterpret_cast<void (*)()>(enter), 2,
              uint32_t(number >> 32), uint32_t(number));
  setcontext(&context);
}

/// Lets the threads of a warp that have all come to a shuffle exchange.
bool GridExecutor::Block::releaseWarp(size_t first) {
  size_t count = std::min<size_t>(warpSize, threads.size() - first);
  Thread **warp = &threads[first];
  uint32_t offset = warp[0]->offset;
  uint32_t all[warpSize];
  for (size_t t = 0; t < count; ++t) {
    if (warp[t]->waits != Waits::Shuffle || warp[t]->offset != offset) {
      return false;
    }
    all[t] = warp[t]->bits;
  }
  for (size_t t = 0; t < count; ++t) {
    size_t other = t ^ offset;
    warp[t]->bits = other < count ? all[other] : 0xdeadbeef;
    warp[t]->waits = Waits::Nothing;
  }
  return true;
}

/// Of two elements in a word.
static double elementOf(uint32_t word, bool isUpper, bool isBFloat) {
  auto bits = uint16_t(isUpper ? word >> 16 : word);
  return isBFloat ? rt::load(std::bit_cast<rt::BFloat>(bits))
                  : rt::load(std::bit_cast<rt::Half>(bits));
}

/// Lets a warp whose threads have all come to a product have it. Which element
/// a thread has where: PTX ISA, "Matrix Fragments for mma.m16n8k16 with
/// floating point type". Sums are exact, but for their last rounding.
bool GridExecutor::Block::releaseProduct(size_t first) {
  if (threads.size() - first < warpSize) {
    return false;
  }
  Thread **warp = &threads[first];
  for (size_t t = 0; t < warpSize; ++t) {
    if (warp[t]->waits != Waits::Product ||
        warp[t]->isBFloat != warp[0]->isBFloat) {
      return false;
    }
  }
  bool isBFloat = warp[0]->isBFloat;
  double a[16][16], b[16][8];
  for (size_t t = 0; t < warpSize; ++t) {
    const uint32_t *words = warp[t]->words;
    size_t group = t / 4, pair = t % 4 * 2;
    for (size_t i = 0; i < 2; ++i) {
      for (size_t w = 0; w < 4; ++w) {
        a[group + w % 2 * 8][pair + w / 2 * 8 + i] =
            elementOf(words[w], i == 1, isBFloat);
      }
      for (size_t w = 0; w < 2; ++w) {
        b[pair + w * 8 + i][group] = elementOf(words[4 + w], i == 1, isBFloat);
      }
    }
  }
  for (size_t t = 0; t < warpSize; ++t) {
    for (size_t i = 0; i < 4; ++i) {
      size_t row = t / 4 + i / 2 * 8, column = t % 4 * 2 + i % 2;
      double sum = std::bit_cast<float>(warp[t]->words[6 + i]);
      for (size_t k = 0; k < 16; ++k) {
        sum += a[row][k] * b[k][column];
      }
      warp[t]->words[6 + i] = std::bit_cast<uint32_t>(float(sum));
    }
    warp[t]->waits = Waits::Nothing;
  }
  return true;
}

/// Lets go on who has come together; false if nobody can.
bool GridExecutor::Block::release() {
  bool isAny = false;
  for (size_t first = 0; first < threads.size(); first += warpSize) {
    isAny |= releaseWarp(first) || releaseProduct(first);
  }
  auto isAtBarrier = [](const Thread *thread) {
    return thread->waits == Waits::Barrier;
  };
  if (!isAny && std::all_of(threads.begin(), threads.end(), isAtBarrier)) {
    ++epoch;
    for (Thread *thread : threads) {
      thread->waits = Waits::Nothing;
    }
    isAny = true;
  }
  return isAny;
}

GridExecutor::GridExecutor(Memory memory) : memory_(std::move(memory)) {}
GridExecutor::~GridExecutor() = default;

/// The range that was found last stands first.
std::byte *GridExecutor::find(uint64_t address, uint64_t bytes) {
  for (MemoryRange &range : ranges_) {
    if (address >= range.begin && address + bytes <= range.end) {
      std::swap(range, ranges_.front());
      return ranges_.front().data + (address - ranges_.front().begin);
    }
  }
  MemoryRange range = memory_(address);
  if (address < range.begin || address + bytes > range.end) {
    return nullptr;
  }
  ranges_.push_back(range);
  return range.data + (address - range.begin);
}

std::optional<std::string> GridExecutor::Block::run() {
  executor.sharedLog_.clear();
  for (uint32_t t = 0; t < shape.threads(); ++t) {
    threads.push_back(executor.threads_[t].get());
    begin(*threads.back(), t);
  }
  std::vector<Thread *> ready;
  while (!wrong) {
    ready.clear();
    size_t ended = 0;
    for (Thread *thread : threads) {
      if (thread->waits == Waits::Nothing) {
        ready.push_back(thread);
      }
      ended += thread->waits == Waits::Ended;
    }
    if (ended == threads.size()) {
      return wrong;
    }
    if (ready.empty() && !release()) {
      fail("threads of block " + std::to_string(number) +
           " wait for others, who do not come");
    }
    std::shuffle(ready.begin(), ready.end(), executor.random_);
    for (Thread *thread : ready) {
      goOn(*thread);
    }
  }
  return wrong;
}

std::optional<std::string> GridExecutor::runBlock(EmulatedFunction kernel,
                                                  const void *const *parameters,
                                                  const LaunchShape &shape,
                                                  uint32_t number) {
  // What a kernel does not write it must not read.
  shared_.assign(sharedBytes, std::byte(0xff));
  while (threads_.size() < shape.threads()) {
    threads_.push_back(std::make_unique<Thread>());
  }
  return Block{*this, kernel, parameters, shape, number}.run();
}

std::optional<std::string> GridExecutor::run(EmulatedFunction kernel,
                                             const void *const *parameters,
                                             const LaunchShape &shape) {
  log_.clear();
  ranges_.clear();
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
