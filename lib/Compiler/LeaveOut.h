//===- LeaveOut.h - Compiling without some passes ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Leaving a pass out shows its effect. That is possible for passes without
// which programs are only slower.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_LEAVEOUT_H
#define DIVISI_LIB_COMPILER_LEAVEOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace divisi {

/// The names of the passes that can be left out, in the order in which they
/// run.
llvm::ArrayRef<llvm::StringRef> optionalPasses();

/// Lets no pass run in `context` from now on that has one of these names, and
/// none at all while `isCut`, if it is given, says so.
void leaveOut(mlir::MLIRContext &context, std::vector<std::string> passes,
              std::function<bool()> isCut = nullptr);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_LEAVEOUT_H
