//===- Parallelism.h - What a plan is called --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan splits loops; people speak of data and tensor parallelism. What an
// axis does to products with weights tells, by the arithmetic that it does so
// to:
//
//   loop of the product              of which                      called
//   only in the activation           the batch                     DP
//                                    another dim                   SP
//   in the weight, not in both       columns or the summed dim     TP
//   others and the result
//   in weight, activation, result    an expert each                EP
//
// DP whose weights rest split over the same axis is FSDP (ZeRO-3).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_REPORT_PARALLELISM_H
#define DIVISI_LIB_REPORT_PARALLELISM_H

#include "dialects/SPMD/Strategy.h"
#include "divisi/Report/Report.h"

#include <array>
#include <map>

namespace divisi {

/// What the axes of grids do.
class Parallelism {
public:
  /// Follows the batch, the first dim of the arguments, through `op`, which
  /// stands behind those whose results it takes.
  void follow(mlir::Operation &op);
  /// Counts `op`, of a partitioned module, before it is followed.
  void count(nn::LoopInterface op, const spmd::Strategy &strategy);
  /// `DP 2, TP 4`, of products with weights, or else of all operators; empty
  /// where nothing is split. `globals` say where weights rest.
  std::string text(const ReportGrid &grid,
                   llvm::ArrayRef<ReportTensor> globals) const;

private:
  /// Flops per kind, of products with weights and of all.
  struct AxisUse {
    std::array<double, 4> ofProducts = {}, ofAll = {};
  };
  llvm::SmallVector<LoopId, 2> batchLoops(mlir::Operation *op,
                                          const LoopNest &nest) const;
  std::optional<size_t> batchDim(mlir::Value value) const;

  /// The dim of a value that the batch is.
  llvm::DenseMap<mlir::Value, size_t> batchOf_;
  /// By grid and axis.
  std::map<std::pair<std::string, size_t>, AxisUse> uses_;
  double products_ = 0, all_ = 0;
};

} // namespace divisi

#endif // DIVISI_LIB_REPORT_PARALLELISM_H
