//===- Transfer.h - Costs of moves between grids ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor goes from one grid to another in one step, whose senders are those
// that the runtime has (divisi/runtime/device/Senders.h). Where several devices
// of the target want the same, it may be cheaper to send each a part, and to
// gather the parts over the links between them:
//
//   [*] on 2 devices -> [*] on 4 of another machine, z = 4
//     transfer to [z]    each gets a quarter from the other machine
//     all_gather {z}     the others' quarters come over the links within it
//
// chooseTransfer() decides; the partitioner asks it what to write, and the
// planner what that takes.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COST_TRANSFER_H
#define DIVISI_COST_TRANSFER_H

#include "divisi/Cluster/GridLinks.h"
#include "divisi/Layout/Layout.h"
#include "divisi/Route/Router.h"

namespace divisi {

/// The tensor on one of the two grids.
struct TransferEnd {
  Grid grid;                             ///< Its axes.
  llvm::SmallVector<int64_t, 8> devices; ///< Per position.
  Layout layout;                         ///< Not partial.
};

/// What one step between grids takes.
struct TransferPrice {
  int64_t nanoseconds = 0; ///< Until the last device has its box.
  int64_t bytes = 0;       ///< That the busiest device receives from others.
};

/// The price of sending each device of `to` its box.
TransferPrice priceTransfer(llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                            const TransferEnd &from, const TransferEnd &to,
                            const Cluster &cluster);

/// The links between all devices of both grids, as those of one axis.
GridLinks linksBetween(const TransferEnd &from, const TransferEnd &to,
                       const Cluster &cluster);

/// What no way of moving the tensor goes below: the bytes that must come to a
/// device, or into a unit of devices, or leave the source, at the pace of all
/// links there, and the shortest latency.
int64_t leastTransferNanoseconds(llvm::ArrayRef<int64_t> shape,
                                 int64_t elementBits, const TransferEnd &from,
                                 const TransferEnd &to, const Cluster &cluster);

/// How a tensor comes to another grid.
struct TransferWay {
  Layout via;            ///< In which it arrives there; not partial.
  TransferPrice price;   ///< Of the transfer to that.
  int64_t gathering = 0; ///< Nanoseconds of the steps from there to the end.

  /// Nanoseconds of all.
  int64_t nanoseconds() const { return price.nanoseconds + gathering; }
};

/// The cheapest way; `router` is that of the grid of `to`. Of equal ones the
/// one with fewer steps.
TransferWay chooseTransfer(llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                           const TransferEnd &from, const TransferEnd &to,
                           const Cluster &cluster, Router &router);

} // namespace divisi

#endif // DIVISI_COST_TRANSFER_H
