//===- IndependentRows.h - Whether a batch can be divided -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A batch is divided into micro-batches where each row of what a program
// returns is made of the same row of its inputs, and of what all rows have in
// common. The loops of operators tell: the batch is the major iterations of one
// dim of a value, and an operator keeps its rows apart where one parallel loop
// goes through them in all operands and results.
//
//   nn.softmax of dim 1      keeps them apart
//   nn.reduce of dim 0       does not: a batch norm that is trained
//   nn.add %x, %positions    does, if all rows of %positions are equal
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_INDEPENDENTROWS_H
#define DIVISI_PLAN_INDEPENDENTROWS_H

#include "divisi/Support/GlobalStore.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace divisi::plan {

/// What findIndependentRows() says.
struct IndependentRows {
  int64_t batch = 1; ///< The extent of dim 0 of inputs that have a batch.
  /// What does not let the batch be divided, with its name; empty if nothing.
  std::string obstacle;
  /// Whether rows are given random numbers, other ones where they are divided.
  bool drawsNumbers = false;
};

/// Of `entry`, as it was imported, with the bytes of its globals in `store`. Of
/// a program that is trained only the output `trainedBy` counts, which may be
/// empty for the first one.
IndependentRows
findIndependentRows(mlir::func::FuncOp entry, GlobalStore &store,
                    const std::optional<std::string> &trainedBy);

} // namespace divisi::plan

#endif // DIVISI_PLAN_INDEPENDENTROWS_H
