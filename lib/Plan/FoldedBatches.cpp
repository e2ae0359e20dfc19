//===- FoldedBatches.cpp - Micro-batches in lifetimes ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldedBatches.h"

#include "llvm/ADT/STLExtras.h"

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
    DataflowValue &tensor = dataflow.values[value];
    tensor.begin = batches.begin;
    bool isUsedInside =
        llvm::any_of(tensor.consumers, [&](const Consumer &consumer) {
          return consumer.time < batches.end;
        });
    if (!isUsedInside) {
      tensor.repeats = 1;
    }
  }
}

} // namespace divisi::plan
