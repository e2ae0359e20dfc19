//===- Pages.cpp - Memory in large pages ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Pages.h"

#include <cstdlib>
#include <limits>
#include <sys/mman.h>

using namespace divisi;

void *rt::allocatePages(int64_t bytes) {
  constexpr int64_t line = 64, page = int64_t(2) << 20;
  if (bytes <= 0 || bytes > std::numeric_limits<int64_t>::max() - page) {
    return nullptr;
  }
  bool isLarge = bytes >= page;
  int64_t size = (bytes + line - 1) / line * line;
  void *memory = isLarge ? nullptr : std::aligned_alloc(line, size);
  if (isLarge && posix_memalign(&memory, page, size) == 0) {
    // What is refused stays in small pages.
    (void)madvise(memory, bytes / page * page, MADV_HUGEPAGE);
  }
  return memory;
}
