//===- DrawnRegion.h - Regions that are drawn at random ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_CODEGEN_DRAWNREGION_H
#define DIVISI_TEST_CODEGEN_DRAWNREGION_H

#include "test/Codegen/RegionCall.h"

#include <random>
#include <string>
#include <vector>

namespace divisi::test {

/// A region of which only the extents are open. Each dimension is one element
/// wide, or more, in all calls.
class DrawnRegion {
public:
  explicit DrawnRegion(unsigned seed);

  /// With extents of up to `most`, and a box of the tensors as a rank might
  /// have it.
  RegionCall call(int64_t most);

private:
  /// A value, by the dimensions of the results that it has.
  struct Value {
    std::vector<bool> moves; ///< Per dimension; in front some may be missing.
    rt::DType type;
  };
  struct Part {
    std::string op;
    rt::Attributes attributes;
    std::vector<int> operands;
    rt::DType type;
  };

  int64_t below(int64_t end);
  int operand(bool isWhole, rt::DType type);
  int part(std::string op, std::vector<int> operands, rt::Attributes with = {});
  void drawPart();
  rt::Attributes rowAttributes(bool isSoftmax) const;
  rt::TensorInfo infoOf(const Value &value, const rt::TensorInfo &whole) const;
  void joinFirst(RegionCall &call);

  std::mt19937 random_;
  size_t rank_ = 1;
  size_t rowDims_ = 1; ///< Dimensions that are reduced, the last ones.
  bool hasRows_ = false, isChannelsLast_ = false;
  int joinedAxis_ = -1; ///< Along which the first operand is joined.
  rt::DType type_ = rt::DType::F32;
  std::vector<bool> moves_;
  std::vector<Value> operands_;
  std::vector<Part> parts_;
  int last_ = 0; ///< The value that the next part reads; parts from 1000 on.
};

} // namespace divisi::test

#endif // DIVISI_TEST_CODEGEN_DRAWNREGION_H
