//===- Tidy.h - Programs in the form of Import ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_OPTIMIZE_TIDY_H
#define DIVISI_LIB_OPTIMIZE_TIDY_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace divisi::optimize {

/// Brings rewritten programs into the form that Import gives them.
class Tidy {
public:
  /// For modules of that context.
  explicit Tidy(mlir::MLIRContext *context);

  /// Fails with Internal where the program breaks a rule of its operators.
  Status run(mlir::ModuleOp module);

private:
  mlir::PassManager passes_;
};

} // namespace divisi::optimize

#endif // DIVISI_LIB_OPTIMIZE_TIDY_H
