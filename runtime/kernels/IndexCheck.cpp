//===- IndexCheck.cpp - Whether indices in data are good ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/IndexCheck.h"

namespace divisi::rt {

IndexCheck::IndexCheck(const CallSite &site, size_t operand, const Dims &first,
                       const Dims &extents, int64_t extent)
    : isOn_(site.checksIndices), first_(first), extents_(extents),
      extent_(uint64_t(extent)) {
  const TensorInfo &indices = site.operands[operand];
  Walk walk{0, rowMajorStrides(indices.extents)};
  for (size_t d = 0; d < first.size(); ++d) {
    walk.base += (first[d] - indices.offset[d]) * walk.strides[d];
  }
  nest_ = Nest<1>(extents, {walk});
}

Dims IndexCheck::positionOf(int64_t number) const {
  Dims position = first_;
  for (size_t d = position.size(); d-- > 0;) {
    position[d] += number % extents_[d];
    number /= extents_[d];
  }
  return position;
}

} // namespace divisi::rt
