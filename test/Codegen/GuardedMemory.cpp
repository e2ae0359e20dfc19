//===- GuardedMemory.cpp - Memory with nothing around it ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/GuardedMemory.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace divisi::test;

static constexpr int64_t pageBytes = 4096;
/// Wider than what code could jump over by one row.
static constexpr int64_t guardBytes = 1 << 24;
/// So many bytes beside a tensor are looked at.
static constexpr int64_t watchedBytes = 256;
static constexpr std::byte untouched{0xa5};

static char faultNote[1 << 14];

static void tellFault(int signal) {
  static constexpr char what[] = "generated code has touched a guard:\n";
  (void)!write(STDERR_FILENO, what, sizeof(what) - 1);
  (void)!write(STDERR_FILENO, faultNote, std::strlen(faultNote));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void divisi::test::noteForFaults(const std::string &text) {
  size_t length = std::min(text.size(), sizeof(faultNote) - 1);
  std::memcpy(faultNote, text.data(), length);
  faultNote[length] = 0;
  std::signal(SIGSEGV, tellFault);
}

GuardedMemory::GuardedMemory(int64_t capacity)
    : capacity_((capacity + watchedBytes + pageBytes - 1) / pageBytes *
                pageBytes) {
  void *all = mmap(nullptr, capacity_ + 2 * guardBytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  base_ = static_cast<std::byte *>(all);
  if (all == MAP_FAILED ||
      mprotect(base_ + guardBytes, capacity_, PROT_READ | PROT_WRITE) != 0) {
    std::perror("memory between guards");
    std::abort();
  }
}

GuardedMemory::~GuardedMemory() {
  munmap(base_, capacity_ + 2 * guardBytes);
}

std::byte *GuardedMemory::place(int64_t bytes, Side side) {
  std::byte *room = base_ + guardBytes;
  if (bytes > capacity_ - watchedBytes) {
    std::fprintf(stderr, "no room for %ld bytes\n", long(bytes));
    std::abort();
  }
  if (isFrozen_) {
    mprotect(room, capacity_, PROT_READ | PROT_WRITE);
    isFrozen_ = false;
  }
  bytes_ = bytes;
  bool isFirst = side == Side::Begin;
  data_ = isFirst ? room : room + capacity_ - bytes;
  std::fill_n(isFirst ? data_ : data_ - watchedBytes, bytes + watchedBytes,
              untouched);
  return data_;
}

void GuardedMemory::freeze() {
  mprotect(base_ + guardBytes, capacity_, PROT_READ);
  isFrozen_ = true;
}

bool GuardedMemory::isIntact() const {
  bool isFirst = data_ == base_ + guardBytes;
  const std::byte *beside = isFirst ? data_ + bytes_ : data_ - watchedBytes;
  return std::all_of(beside, beside + watchedBytes,
                     [](std::byte value) { return value == untouched; });
}
