//===- RandomProgram.h - Programs of nn drawn at random ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_UNFLATTEN_RANDOMPROGRAM_H
#define DIVISI_TEST_UNFLATTEN_RANDOMPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>

namespace divisi::test {

/// A module with parameters @p0, @p1 … and a function @forward of `length`
/// operators, most of which move or reshape: the same for the same seed. Every
/// value that nothing else reads is a result.
mlir::OwningOpRef<mlir::ModuleOp> makeRandomProgram(mlir::MLIRContext &context,
                                                    uint64_t seed, int length);

} // namespace divisi::test

#endif // DIVISI_TEST_UNFLATTEN_RANDOMPROGRAM_H
