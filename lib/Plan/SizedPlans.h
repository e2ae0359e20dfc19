//===- SizedPlans.h - Plans of a program for each size ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages of unequal numbers of devices have strategies of several plans, each
// of which is in a copy of the program:
//
//   the program           a copy for 2 devices        a copy for 1 device
//   %h = nn.matmul …      %h = nn.matmul … @g: n@x    %h = nn.matmul … @g
//   %y = nn.matmul …      %y = nn.matmul … @g: k@x    %y = nn.matmul … @g
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_SIZEDPLANS_H
#define DIVISI_LIB_PLAN_SIZEDPLANS_H

#include "dialects/SPMD/SPMD.h"
#include "divisi/Plan/PlaceStages.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace divisi::plan {

/// What the operations of a program have in each of its plans.
class SizedPlans {
public:
  /// The one plan that `program` has, for stages of any size.
  explicit SizedPlans(mlir::ModuleOp program);
  /// Of each size one, in copies of `program`, which need have none.
  SizedPlans(mlir::ModuleOp program, llvm::ArrayRef<SizedPlan> plans);

  /// Whether there are several.
  bool hasSizes() const { return plans_.size() > 1; }
  /// How many there are.
  size_t count() const { return plans_.size(); }
  /// For how many devices one of them is.
  int64_t devices(size_t plan) const { return plans_[plan].devices; }
  /// Its grid.
  spmd::GridOp grid(size_t plan) const { return plans_[plan].grid; }
  /// The plan for stages of so many; the first, where there is none.
  size_t planFor(int64_t devices) const;
  /// Whether there is one.
  bool hasPlanFor(int64_t devices) const {
    return plans_[planFor(devices)].devices == devices;
  }
  /// What is there of `op`, an operation of the program.
  mlir::Operation *twin(size_t plan, mlir::Operation *op) const;
  /// `twin` of an operation of a kind.
  template <typename Op> Op twin(size_t plan, Op op) const {
    return mlir::cast<Op>(twin(plan, op.getOperation()));
  }

private:
  struct Plan {
    int64_t devices = 0;
    spmd::GridOp grid;
    /// Of the operations of the program; empty: they have the plan.
    llvm::DenseMap<mlir::Operation *, mlir::Operation *> twins;
  };
  std::vector<Plan> plans_;
};

/// What the ways of tensors take in the plan of `module`, which is on one grid,
/// by the operators that they lead to. Nothing of a plan that cannot be priced.
llvm::DenseMap<mlir::Operation *, int64_t> timesOfWays(mlir::ModuleOp module);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_SIZEDPLANS_H
