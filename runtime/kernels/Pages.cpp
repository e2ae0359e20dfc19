//===- Pages.cpp - Memory in large pages ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Pages.h"

#include "divisi/runtime/kernels/HostTensor.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sys/mman.h>

using namespace divisi;
using namespace divisi::rt;

void *rt::allocatePages(int64_t bytes) {
  constexpr int64_t line = 64, page = int64_t(2) << 20;
  if (bytes <= 0 || bytes > std::numeric_limits<int64_t>::max() - page) {
    return nullptr;
  }
  bool isLarge = bytes >= page;
  int64_t alignment = isLarge ? page : line;
  // A multiple of the alignment; what is behind the bytes is never touched.
  int64_t size = (bytes + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(size_t(alignment), size_t(size));
  if (isLarge && memory) {
    // What is refused stays in small pages; so does the end, which would hold
    // more than it needs.
    int64_t whole = bytes / page * page;
    (void)madvise(memory, size_t(whole), MADV_HUGEPAGE);
    (void)madvise(static_cast<std::byte *>(memory) + whole,
                  size_t(size - whole), MADV_NOHUGEPAGE);
  }
  return memory;
}

Pages::~Pages() {
  if (data_) {
    munmap(data_, size_);
  }
}

Expected<Pages> Pages::allocate(int64_t size) {
  Pages pages;
  pages.size_ = size_t(std::max<int64_t>(size, 1));
  void *data = mmap(nullptr, pages.size_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return noMemoryFor(size);
  }
  pages.data_ = static_cast<std::byte *>(data);
  return pages;
}
