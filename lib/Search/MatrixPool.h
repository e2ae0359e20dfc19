//===- MatrixPool.h - Equal matrices, once ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a file, edges may stand before nodes, so that lists of entries come
// before anyone knows their shapes. The pool first keeps equal lists once, and
// then makes a matrix of each list and shape that is asked for:
//
//   add([0, 7, 7, 0]) = 0    add([3]) = 1    add([0, 7, 7, 0]) = 0
//   matrix(0, 2, 2) = 0      matrix(1, 1, 1) = 1      matrix(0, 4, 1) = 2
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_MATRIXPOOL_H
#define DIVISI_LIB_SEARCH_MATRIXPOOL_H

#include "divisi/Search/Problem.h"

#include <set>
#include <span>

namespace divisi::search {

class MatrixPool {
public:
  MatrixPool() : numbers_(Less{this}) {}
  MatrixPool(const MatrixPool &) = delete;
  MatrixPool &operator=(const MatrixPool &) = delete;

  /// The number of the list that equals `entries`; lists count from zero.
  uint32_t add(std::span<const int64_t> entries);

  /// How many entries list `number` has.
  size_t size(uint32_t number) const { return lists_[number].size; }

  /// The index of the matrix of list `number`, which has rows * columns
  /// entries, in `matrices`; that is appended if it is new.
  uint32_t matrix(uint32_t number, uint32_t rows, uint32_t columns,
                  std::vector<Matrix> &matrices);

private:
  struct List {
    uint64_t hash;
    size_t size;
    std::vector<int64_t> entries;   ///< Moved into the first matrix.
    std::vector<uint32_t> matrices; ///< One a shape.
  };
  /// A list that is not in the pool yet.
  struct Candidate {
    uint64_t hash;
    std::span<const int64_t> entries;
  };
  /// By hash, then by entries: whoever makes lists collide gains little.
  struct Less {
    using is_transparent = void;
    const MatrixPool *pool;
    Candidate get(const Candidate &list) const { return list; }
    Candidate get(uint32_t number) const {
      const List &list = pool->lists_[number];
      return {list.hash, list.entries};
    }
    template <typename A, typename B>
    bool operator()(const A &a, const B &b) const {
      return before(get(a), get(b));
    }
  };
  static bool before(const Candidate &a, const Candidate &b);

  std::vector<List> lists_;
  std::set<uint32_t, Less> numbers_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_MATRIXPOOL_H
