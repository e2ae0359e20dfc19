//===- Execute.h - Run a planned module in this process ---------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a planned module to numbers without a file that a user sees: what
// `check` and the generated tests do many times.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_EXECUTE_H
#define DIVISI_COMPILER_EXECUTE_H

#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/HostTensor.h"
#include "divisi/runtime/Session.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace divisi {

/// Runs `entry` of a lowered module once, through a temporary artifact.
Expected<std::vector<rt::HostTensor>>
runLowered(mlir::ModuleOp module, const std::string &entry,
           const std::vector<rt::HostTensor> &inputs, GlobalStore &store,
           const rt::SessionOptions &options);

/// Partitions and lowers `module` (changing it), and runs `entry` once on
/// `inputs`, which are in the order of its arguments. `store` has the bytes of
/// its globals; null if it has none.
Expected<std::vector<rt::HostTensor>>
runPlanned(mlir::ModuleOp module, const std::string &entry,
           const std::vector<rt::HostTensor> &inputs,
           GlobalStore *store = nullptr);

/// What `function` gives on whole tensors by the reference kernels.
Expected<std::vector<rt::HostTensor>>
evaluateOnHost(mlir::func::FuncOp function,
               const std::vector<rt::HostTensor> &inputs);

/// Whether two tensors agree, and where they do not.
struct Comparison {
  bool equal = true;
  double largestError = 0; ///< The largest |a - b|.
  std::string message;     ///< Empty if equal.
};

/// Equality of floats means |a - b| <= 1e-4·max|expected| + 1e-3·|b|, so that
/// small outputs cannot hide a wrong shard; NaN equals NaN, infinities of one
/// sign equal each other. Other types are equal bit by bit.
Comparison compareTensors(const rt::HostTensor &got,
                          const rt::HostTensor &expected);

} // namespace divisi

#endif // DIVISI_COMPILER_EXECUTE_H
