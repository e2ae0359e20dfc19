//===- FoldedBatches.h - Micro-batches in lifetimes -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the operators of one micro-batch stand for those of all
// (dialects/Pipe), time goes through them many times.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_FOLDEDBATCHES_H
#define DIVISI_LIB_PLAN_FOLDEDBATCHES_H

#include "divisi/Plan/Dataflow.h"

#include "llvm/ADT/ArrayRef.h"

namespace divisi::plan {

/// Until when `consumer` of `tensor` may want it, at least: to the end of
/// `batches`, the times of the one that is there, if others of these consumers
/// follow; else 0.
int64_t endForBatches(const DataflowValue &tensor, const Consumer &consumer,
                      const EntryTimes &batches);

/// Lets tensors that are there for all micro-batches live until the last one
/// has run, and those with the numbers `carried`, which one gives to the next,
/// from the first one on.
void keepForBatches(Dataflow &dataflow, const EntryTimes &batches,
                    llvm::ArrayRef<unsigned> carried);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_FOLDEDBATCHES_H
