//===- OperatorCases.h - An operator under every strategy -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated test takes functions of one operator each (Inputs/) and makes a
// planned module of each legal split on grids of 2, 3 and 4 devices.
// Arguments lie as the split wants them, or in a random layout that has to be
// converted first: split otherwise, unevenly, over several axes, or partial.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_GENERATED_OPERATORCASES_H
#define DIVISI_TEST_GENERATED_OPERATORCASES_H

#include "divisi/Layout/Loops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>
#include <string>
#include <vector>

namespace divisi {

/// One way to run one operator.
struct OperatorCase {
  Grid grid;
  Split split;
  /// Per argument of the function how it lies at first: nothing for the layout
  /// that the split gives the operand.
  std::vector<std::optional<Layout>> arguments;
  std::optional<Layout> result; ///< Nothing: replicated.

  std::string str(const LoopNest &nest) const;
};

/// The operator that `function` consists of.
mlir::Operation *operatorOf(mlir::func::FuncOp function);

/// Every split on every grid of 2, 3 and 4 devices with its derived layouts,
/// then as many with random layouts; of more than `limit` a sample that the
/// seed decides.
std::vector<OperatorCase> makeCases(mlir::func::FuncOp function, size_t limit,
                                    unsigned seed);

/// `function` alone in a module, planned as `planned` says.
mlir::OwningOpRef<mlir::ModuleOp>
makePlannedModule(mlir::func::FuncOp function, const OperatorCase &planned);

} // namespace divisi

#endif // DIVISI_TEST_GENERATED_OPERATORCASES_H
