//===- Registration.h - All dialects and passes -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_REGISTRATION_H
#define DIVISI_COMPILER_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace divisi {

/// Adds every dialect that a Divisi program may hold.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Makes every pass and pipeline known to pass managers by its name.
void registerAllPasses();

} // namespace divisi

#endif // DIVISI_COMPILER_REGISTRATION_H
