//===- LinkCosts.h - What the links of a grid cost --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain numbers, one pair for each axis of a grid. A cluster makes them, the
// operator `spmd.grid` carries them, and prices of steps follow from them
// (divisi/Cost/StepCost.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LAYOUT_LINKCOSTS_H
#define DIVISI_LAYOUT_LINKCOSTS_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace divisi {

/// What a link along one axis costs.
struct AxisCost {
  int64_t latencyNanoseconds = 0; ///< Of one message.
  double bytesPerSecond = 1e9;    ///< One direction, per device.
};

/// What moving bytes on one grid costs.
struct LinkCosts {
  llvm::SmallVector<AxisCost, 4> axes; ///< One per axis of the grid.
  double memoryBytesPerSecond = 1e11;  ///< For local steps.
};

} // namespace divisi

#endif // DIVISI_LAYOUT_LINKCOSTS_H
