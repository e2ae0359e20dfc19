//===- BoxValues.h - Random boxes, and values of their elements -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_DEVICE_BOXVALUES_H
#define DIVISI_TEST_RUNTIME_DEVICE_BOXVALUES_H

#include "divisi/runtime/device/Box.h"

#include <algorithm>
#include <random>
#include <vector>

namespace divisi::rt {

using Random = std::mt19937;

inline int64_t below(Random &random, int64_t bound) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
}

inline Box randomBox(Random &random, const Dims &dims) {
  Box box;
  for (int64_t dim : dims) {
    int64_t a = below(random, dim + 1), b = below(random, dim + 1);
    box.begin.push_back(std::min(a, b));
    box.end.push_back(std::max(a, b));
  }
  return box;
}

/// Calls `body(index)` for every index of the box, row-major.
template <typename Body> void forEachIndex(const Box &box, Body body) {
  Dims extents = box.extents();
  for (int64_t i = 0; i < box.count(); ++i) {
    Dims index = box.begin;
    int64_t rest = i;
    for (size_t d = box.rank(); d-- > 0;) {
      index[d] += rest % extents[d];
      rest /= extents[d];
    }
    body(index);
  }
}

inline bool holds(const Box &box, const Dims &index) {
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] < box.begin[d] || index[d] >= box.end[d]) {
      return false;
    }
  }
  return true;
}

/// A different number for every index of a tensor.
inline int32_t valueAt(const Dims &index) {
  int32_t value = 1;
  for (int64_t i : index) {
    value = value * 31 + static_cast<int32_t>(i);
  }
  return value;
}

inline std::vector<int32_t> valuesOf(const Box &box, int32_t factor = 1) {
  std::vector<int32_t> values;
  forEachIndex(box, [&](const Dims &index) {
    values.push_back(valueAt(index) * factor);
  });
  return values;
}

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_DEVICE_BOXVALUES_H
