//===- RandomStages.h - A legal pipeline, drawn at random -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: whatever stages a pipeline has, it must compute the same. So nodes
// are cut in any order in which they may run, at any place, be it within a
// residual connection; stages have any numbers of devices; chunks go to stages
// in any order; and steps run in an order that is known by name or in any in
// which none waits for itself.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_RANDOMSTAGES_H
#define DIVISI_LIB_PLAN_RANDOMSTAGES_H

#include "RandomDraws.h"
#include "divisi/Cluster/Cluster.h"
#include "divisi/Plan/PlaceStages.h"
#include "divisi/Plan/StepLabels.h"
#include "divisi/Stages/PipelineSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace divisi::plan {

/// The name of an order of steps that was drawn.
inline constexpr const char *kDrawnSchedule = "drawn";

/// How many of `devices` devices each of `stages` stages has, at most as many:
/// none is without, together they have all.
std::vector<int64_t> drawSizes(int64_t devices, int64_t stages, Random &random);

/// Draws what `request` leaves open of the pipeline of one module. One use.
class RandomStages {
public:
  /// What is given is kept by the caller.
  RandomStages(mlir::ModuleOp module, const Cluster &cluster,
               const PipelineRequest &request, Random &random)
      : module_(module), cluster_(cluster), request_(request), random_(random) {
  }

  /// Cuts the module into chunks that stages run. ExitCode::Usage if it has
  /// fewer nodes.
  Status cut();
  /// The stage of an operator, or of a body.
  size_t stageOf(mlir::Operation *op) const {
    return stageOf_[size_t(chunks_.lookup(op))];
  }
  /// Says which steps the operators belong to, which have their strategies, and
  /// in which order steps run. As chooseSchedule().
  Status schedule();
  /// Of the first entry.
  const PipelineSchedule &scheduleOfFirst() const { return *first_; }

private:
  void drawStages(size_t nodes);
  std::vector<size_t> drawNodes(std::vector<std::set<size_t>> reads);
  std::string drawName(bool isTraining);
  PipelineSchedule drawSchedule(const StepKinds &kinds);

  mlir::ModuleOp module_;
  const Cluster &cluster_;
  PipelineRequest request_;
  Random &random_;
  std::vector<size_t> stageOf_; ///< Per chunk.
  llvm::DenseMap<mlir::Operation *, int64_t> chunks_;
  std::optional<PipelineSchedule> first_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_RANDOMSTAGES_H
