//===- BucketReductions.h - One reduction of several ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small reductions take the time of the links' latency. Several of the same
// ranks, none of which needs another's result, become one:
//
//   %2 = spmd.all_reduce %1 : 4         %5 = nn.concat %1, %3 : 10
//   %4 = spmd.all_reduce %3 : 6   ->    %6 = spmd.all_reduce %5 : 10
//                                       %2, %4 = nn.slice %6 : 4, 6
//
// If sums are scattered in dimension 0, the joined tensor has a row per shard.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SCHEDULE_BUCKETREDUCTIONS_H
#define DIVISI_SCHEDULE_BUCKETREDUCTIONS_H

#include "divisi/Cost/OperationCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// Makes buckets, of up to `most` each, of all-reduces and reduce-scatters of
/// partial sums that lie whole on every position, and scattered evenly in
/// dimension 0. One joins while the links are still busy with those before it,
/// and if its sum is then there earlier. Returns how many buckets there are; if
/// there are some, what ranks do together is numbered anew: `function` is all
/// of its entry.
int64_t bucketReductions(mlir::func::FuncOp function, size_t most,
                         OperationCost &cost);

} // namespace divisi

#endif // DIVISI_SCHEDULE_BUCKETREDUCTIONS_H
