//===- Pages.h - Memory in large pages --------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run touches all of its arena and weights once, so that with pages of 4 KiB
// it looks up thousands of addresses, in a virtual machine each twice. Linux
// gives large pages to who asks for them.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_PAGES_H
#define DIVISI_RUNTIME_KERNELS_PAGES_H

#include "divisi/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace divisi::rt {

/// `bytes`, more than 0, at a multiple of 64, which std::free() takes back;
/// null if there is no memory. Large pages are asked for where they are filled,
/// so that they take no more memory.
void *allocatePages(int64_t bytes);

/// Bytes that go back to the system when they are let go, which those of
/// malloc() need not.
class Pages {
public:
  Pages() = default;
  Pages(Pages &&other) noexcept { swap(other); }
  Pages &operator=(Pages &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Pages();
  /// Zeros; fails with Device when memory runs out.
  static Expected<Pages> allocate(int64_t size);

  /// Owned by this object; null of none.
  std::byte *data() const { return data_; }

private:
  void swap(Pages &other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  std::byte *data_ = nullptr;
  size_t size_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_PAGES_H
