//===- FoldedBatches.cpp - Micro-batches in lifetimes ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldedBatches.h"

#include <algorithm>

namespace divisi::plan {

int64_t endForBatches(const DataflowValue &tensor, const Consumer &consumer,
                      const EntryTimes &batches) {
  bool isInside = consumer.time >= batches.begin && consumer.time < batches.end;
  return isInside && consumer.repeats > tensor.repeats ? batches.end : 0;
}

void keepForBatches(Dataflow &dataflow, const EntryTimes &batches,
                    llvm::ArrayRef<unsigned> carried) {
  for (DataflowValue &tensor : dataflow.values) {
    for (const Consumer &consumer : tensor.consumers) {
      tensor.end =
          std::max(tensor.end, endForBatches(tensor, consumer, batches));
    }
  }
  for (unsigned value : carried) {
    dataflow.values[value].begin = batches.begin;
  }
}

} // namespace divisi::plan
