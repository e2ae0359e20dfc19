//===- Agreement.h - Whether ranks do together what they must ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks on the same grids run one function. What several of them do together
// carries a tag that is equal on all of them:
//
//   @forward__0 ranks 0         all_reduce on @g, tag 3     @g = {0, 1, 2}
//   @forward__1 ranks 1, 2      all_reduce on @g, tag 3
//
// Tags ascend in every function. So no two ranks wait for each other in
// opposite orders, whatever each of them does in between.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_VERIFY_AGREEMENT_H
#define DIVISI_LIB_VERIFY_AGREEMENT_H

#include "Dataflow.h"

namespace divisi::verify {

/// Tags ascend in every function of `parts`, those of one entry, and all that
/// ranks do together has one. A single function without ranks has no tags yet.
mlir::LogicalResult verifyOrder(llvm::ArrayRef<mlir::func::FuncOp> parts);

/// No rank stands in two functions, each does only what happens on its grids,
/// all devices of a grid take part in what happens on it with other ranks, by
/// the same operation on the same value, and all of them return and update
/// what lies on it.
mlir::LogicalResult verifyAgreement(llvm::ArrayRef<mlir::func::FuncOp> parts,
                                    const DataflowHashes &hashes);

} // namespace divisi::verify

#endif // DIVISI_LIB_VERIFY_AGREEMENT_H
