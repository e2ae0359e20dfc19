//===- HostCopies.h - Copies between host and device ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever runs an entry has its inputs in the memory of the host and wants its
// outputs there. A device with memory of its own copies its boxes of them, one
// after the other and before or after all else:
//
//   launch of a copy + bytes / rate of the host's link
//
// What else is copied, as the device has no kernel for an operator, is known
// when a program is lowered, and has the same price.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_HOSTCOPIES_H
#define DIVISI_COST_HOSTCOPIES_H

#include "dialects/SPMD/SPMD.h"
#include "divisi/Cluster/GridPace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// Copies that a device makes one after the other.
struct HostCopies {
  int64_t copies = 0;               ///< How many.
  int64_t bytes = 0;                ///< Of the device that copies most.
  int64_t nanoseconds = 0;          ///< Of the slowest device.
  int64_t oneDeviceNanoseconds = 0; ///< If one device copied all of it.

  /// Adds `other`, made `times` times.
  void add(const HostCopies &other, int64_t times = 1);
};

/// What copying a tensor of `shape`, which lies as `layout` says, between the
/// host and the slowest device of `grid` takes; 0 if no link is stated.
int64_t hostCopyNanoseconds(const Grid &grid, const Layout &layout,
                            llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                            const GridPace &pace);
/// The copy of a tensor of a `local` type, which is of `grid`.
HostCopies hostCopyOf(mlir::Type local, spmd::GridOp grid,
                      const Cluster &cluster);
/// Of the inputs and outputs of an entry, whose programs are `functions`.
HostCopies hostCopiesOf(llvm::ArrayRef<mlir::func::FuncOp> functions,
                        const Cluster &cluster);

} // namespace divisi

#endif // DIVISI_COST_HOSTCOPIES_H
