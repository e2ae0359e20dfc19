//===- MatrixPool.h - Equal matrices, kept once -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a file, edges may stand before nodes, so that lists of entries come
// before anyone knows their shapes. The pool takes all lists, then finds those
// that are equal, and then makes a matrix of each list and shape that is asked
// for:
//
//   add([0, 7, 7, 0]) = 0    add([3]) = 1    add([0, 7, 7, 0]) = 2    unify()
//   matrix(0, 2, 2) = 0      matrix(1, 1, 1) = 1      matrix(2, 2, 2) = 0
//   matrix(2, 4, 1) = 2
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_FILES_MATRIXPOOL_H
#define DIVISI_LIB_SEARCH_FILES_MATRIXPOOL_H

#include "divisi/Search/Problem.h"

#include <map>
#include <span>
#include <tuple>

namespace divisi::search {

/// Makes matrices of lists of entries, each once: see above.
class MatrixPool {
public:
  /// The number of a new list; they count from zero.
  uint32_t add(std::span<const int64_t> entries);

  /// Finds equal lists, once all are there: n log n, whatever they are.
  void unify();

  /// How many entries list `number` has.
  size_t size(uint32_t number) const { return lists_[number].size; }

  /// The index of the matrix of list `number`, which has rows * columns
  /// entries, in `matrices`; that is appended if it is new.
  uint32_t matrix(uint32_t number, uint32_t rows, uint32_t columns,
                  std::vector<Matrix> &matrices);

private:
  struct List {
    std::vector<int64_t> entries; ///< Moved into its matrix.
    size_t size;
    uint32_t first; ///< The first list that equals it.
    std::optional<uint32_t> matrix;
  };
  void unify(std::span<uint32_t> numbers);

  std::vector<List> lists_;
  /// Of a list in another shape than that of its matrix: list, rows, columns.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> others_;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_FILES_MATRIXPOOL_H
