//===- RegionShapes.h - The same region on other shapes ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_REGIONSHAPES_H
#define DIVISI_TEST_CODEGEN_REGIONSHAPES_H

#include "test/Codegen/RegionCall.h"

#include <random>

namespace divisi::test {

/// What is open of a region: the extents of dimensions that its parts do not
/// say are equal, and where in them a rank's box lies. Dimensions of one element
/// stay so.
class RegionShapes {
public:
  /// Of the region of `call`: elementwise parts, such that need whole rows, and
  /// a concatenation in front.
  explicit RegionShapes(const RegionCall &call);

  /// How a box lies in its tensor.
  enum class Box : uint8_t { Whole, Uneven, Empty };

  /// The call with results of at most about so many elements. Without a
  /// dimension that may be cut, boxes are whole.
  RegionCall draw(std::mt19937 &random, int64_t mostElements, Box box) const;

private:
  /// A dimension, by the first that is known to be equal.
  struct Extent {
    int equal = -1;       ///< An earlier one; -1: it is the first.
    bool isOne = false;   ///< One element in all calls.
    bool isWhole = false; ///< Of the tensor, in each box.
    /// What it is the sum of, where operands are joined.
    std::vector<int> joined = {};
  };
  struct Interval {
    int64_t extent = 0, offset = 0, global = 0;
  };

  const rt::TensorInfo &infoOf(int value) const;
  int extentOf(int value, size_t dim) const;
  void join(int a, int b);
  void addPart(int value, const rt::RegionPart &part);
  std::vector<Interval> drawExtents(std::mt19937 &random, int64_t most,
                                    Box box) const;

  RegionCall call_;
  std::vector<int> begins_;     ///< Per value, of its dimensions.
  std::vector<Extent> extents_; ///< Per dimension of each value.
};

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_REGIONSHAPES_H
