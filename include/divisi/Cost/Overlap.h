//===- Overlap.h - Slowdown beside a collective -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective that runs beside operators is not free: both share resources.
// This is the only place that says how much:
//
//   operators    |--- 10 us ---|--- 10 us ---|      20 us alone
//   collective      |----- 12 us -----|             12 us
//
// With a slowdown of 1.2, what operators do in these 12 us would take 10 us
// alone. So 2 us of the collective are exposed, and 10 us hidden.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_OVERLAP_H
#define DIVISI_COST_OVERLAP_H

#include "divisi/Cluster/GridLinks.h"

namespace divisi {

/// How many times longer an operator takes beside a collective of a group that
/// reaches so far. Assumed, not measured: kernels of NCCL take some of the
/// multiprocessors and of the memory's rate of their device, more of them where
/// links are faster; between threads of one machine the ranks copy themselves,
/// so that only the other half of the time, in which they wait, can be used.
double overlapSlowdown(const Reach &reach, llvm::ArrayRef<LinkLevel> levels);

} // namespace divisi

#endif // DIVISI_COST_OVERLAP_H
