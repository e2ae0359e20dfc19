//===- MeasuredPoints.h - What the model says of measurements ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_MEASUREDPOINTS_H
#define DIVISI_COST_MEASUREDPOINTS_H

#include "divisi/Cluster/Cluster.h"

namespace divisi {

/// What the model says of `point`, which was measured over the links of level
/// `index` of `cluster`, in nanoseconds, rounded, at least 1.
int64_t modelNanosecondsOf(const MeasuredRate &point, size_t index,
                           const Cluster &cluster);

/// Notes that at every measured point of `cluster`: for one whose rates are
/// those at which it was measured.
void noteModelTimes(Cluster &cluster);

} // namespace divisi

#endif // DIVISI_COST_MEASUREDPOINTS_H
