//===- SetSplit.h - Edit strategies of a plan -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_SETSPLIT_H
#define DIVISI_PLAN_SETSPLIT_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace divisi {

/// The operators of `planned` that have a strategy and are called `name`, as
/// nn::isNamed takes names; of all if it is empty. Reads and updates of
/// globals, and constants, are left out: they run as they rest. ExitCode::Usage
/// if there are none.
Expected<std::vector<mlir::Operation *>> operatorsNamed(mlir::ModuleOp planned,
                                                        llvm::StringRef name);

/// Gives those of them that have all the loops of `split` that strategy, as a
/// plan has it between its brackets: `@g: m@x, n@y`, `m@x, n@y`, or nothing for
/// an operator that every device runs whole. So a scope's products can be split
/// by `n@x` beside operators that have no n. Whether it is legal is a question
/// for `verify-plan`. ExitCode::Usage for a plan on several grids, for another
/// grid, for text that is no strategy, and where no operator has the loops;
/// nothing is changed then.
Status setSplit(mlir::ModuleOp planned, llvm::StringRef operators,
                llvm::StringRef split);

} // namespace divisi

#endif // DIVISI_PLAN_SETSPLIT_H
