//===- Functions.h - Which functions of a module are what -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module holds entries, which users call, and perhaps @init: it computes
// derived globals once, when an artifact is made, on no device.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_FUNCTIONS_H
#define DIVISI_DIALECTS_NN_FUNCTIONS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace divisi::nn {

/// The name of the function that computes derived globals.
inline constexpr llvm::StringLiteral kInitFunction = "init";

/// Whether `function` is @init.
bool isInit(mlir::FunctionOpInterface function);

/// Whether `function` is run on devices: it has a body and is not @init.
bool isEntry(mlir::FunctionOpInterface function);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_FUNCTIONS_H
