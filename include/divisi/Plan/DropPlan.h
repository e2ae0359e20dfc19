//===- DropPlan.h - Back to a module without a plan -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is attributes and grids beside a program that the planner does not
// change, so removing them restores the imported module.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_DROPPLAN_H
#define DIVISI_PLAN_DROPPLAN_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace divisi {

/// Takes strategies and places off `module`, and grids that none is left on, so
/// that it can be planned again; how many devices the grids had that were
/// there. What an element of `keep` names stays, to be planned around:
///
///   h.0, nn.matmul ...  operators, as nn::isNamed takes names
///   @weight, weight     a global; an entry's argument or result by its name
///
/// ExitCode::Usage for a name of nothing that has a strategy or a place;
/// nothing is dropped then.
Expected<int64_t> dropPlan(mlir::ModuleOp module,
                           llvm::ArrayRef<std::string> keep);

} // namespace divisi

#endif // DIVISI_PLAN_DROPPLAN_H
