//===- NeededOrder.h - The required order of instructions -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of a program are on queues that run concurrently. Of two that
// touch the same bytes, one of them writing, the later has to come after the
// earlier. On one queue it does; else `after` has to say so, and only for the
// last of several that follow from each other:
//
//   0  queue A  writes x
//   1  queue B  reads x          after 0
//   2  queue B  writes y         (after 0 by queue order)
//   3  queue A  reads x, y       after 2, and so after 1
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_MEMORY_NEEDEDORDER_H
#define DIVISI_MEMORY_NEEDEDORDER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace divisi {

/// Bytes [begin, end) that an instruction reads or writes.
struct ByteAccess {
  int64_t begin = 0;   ///< The first.
  int64_t end = 0;     ///< Behind the last.
  bool writes = false; ///< Otherwise it only reads.
};

/// Follows the instructions of a program in order.
class NeededOrder {
public:
  /// Of the next instruction, which stands on `queue` and comes after the
  /// instructions `after` already: after which others it has to come, too.
  /// Ascending; none follows from the rest.
  std::vector<size_t> add(size_t queue, std::span<const size_t> after,
                          std::span<const ByteAccess> accesses);

private:
  /// Who touched some bytes since they were written last.
  struct History {
    std::vector<size_t> writer; ///< One, or none yet.
    std::vector<size_t> readers;
  };

  void cut(int64_t byte);
  std::vector<size_t> conflicts(std::span<const ByteAccess> accesses);
  void keep(std::span<const ByteAccess> accesses, size_t self);
  bool isBefore(size_t earlier, const std::vector<size_t> &reached) const;
  void reach(size_t earlier, std::vector<size_t> &reached) const;

  std::vector<size_t> queueOf_;
  /// Per instruction and queue: how many instructions of the list up to the
  /// last one there that has ended with it; 0 for none.
  std::vector<std::vector<size_t>> reached_;
  std::map<size_t, size_t> last_; ///< Per queue, its last instruction.
  /// By first byte: what is true of all bytes until the next.
  std::map<int64_t, History> histories_;
};

} // namespace divisi

#endif // DIVISI_MEMORY_NEEDEDORDER_H
