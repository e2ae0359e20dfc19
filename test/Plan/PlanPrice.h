//===- PlanPrice.h - The planner's price of a plan --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_PLAN_PLANPRICE_H
#define DIVISI_TEST_PLAN_PLANPRICE_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace divisi {

/// The parts of a plan's predicted time, and its predicted memory.
struct PlanPrice {
  int64_t nanoseconds = 0; ///< Of all operators and conversions.
  /// Of each tensor on its way that is converted, ascending.
  std::vector<int64_t> conversions;
  /// At the fullest time, on the fullest device of each kind (memoriesOf).
  std::vector<int64_t> peaks;
};

/// Prices the plan of `module`, which has been through the stage Plan for
/// `cluster`, as the planner would, whoever made it. ExitCode::Usage for a plan
/// on several grids, Invalid for a module that cannot be read.
Expected<PlanPrice> priceOfPlan(mlir::ModuleOp module, const Cluster &cluster);

} // namespace divisi

#endif // DIVISI_TEST_PLAN_PLANPRICE_H
