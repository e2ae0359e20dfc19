//===- Execute.h - Run a model in this process ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a module to numbers without a file that a user sees: what the generated
// tests do many times.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_COMPILER_EXECUTE_H
#define DIVISI_TEST_COMPILER_EXECUTE_H

#include "divisi/Compiler/Compilation.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace divisi {

/// Runs `entry` once by the reference kernels, on `inputs` in the order of its
/// arguments; `compilation` has reached Stage::Lower. Fails as
/// rt::Session::open and run do.
Expected<std::vector<rt::HostTensor>>
runByReference(Compilation &compilation, const std::string &entry,
               const std::vector<rt::HostTensor> &inputs);

/// What `function` gives on whole tensors by the reference kernels.
Expected<std::vector<rt::HostTensor>>
evaluateOnHost(mlir::func::FuncOp function,
               const std::vector<rt::HostTensor> &inputs);

} // namespace divisi

#endif // DIVISI_TEST_COMPILER_EXECUTE_H
