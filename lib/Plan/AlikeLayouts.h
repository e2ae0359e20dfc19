//===- AlikeLayouts.h - Layouts by other names of axes ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where axes are alike, what is known of a pair of layouts is known of all
// pairs that are the same by other names:
//
//   (x=2, y=2), alike    [x, *] -> [*, y]   and   [y, *] -> [*, x]
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_ALIKELAYOUTS_H
#define DIVISI_LIB_PLAN_ALIKELAYOUTS_H

#include "LayoutPool.h"

namespace divisi::plan {

/// Which layouts of a class become which by other names of alike axes.
class AlikeLayouts {
public:
  /// `alike` is as in StepPrices.
  AlikeLayouts(const TensorClass &tensor, llvm::ArrayRef<uint32_t> alike);

  /// Puts `value` into `table`, by first and second layout, for that pair and
  /// all that are like it.
  template <typename Value>
  void fill(std::vector<Value> &table, unsigned from, unsigned to,
            const Value &value) const {
    table[from * count_ + to] = value;
    for (const std::vector<unsigned> &image : images_) {
      if (image[from] != kNone && image[to] != kNone) {
        table[image[from] * count_ + image[to]] = value;
      }
    }
  }

private:
  static constexpr unsigned kNone = ~0U;
  size_t count_;
  /// By each other way to name axes: per layout, the one that it becomes.
  std::vector<std::vector<unsigned>> images_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_ALIKELAYOUTS_H
