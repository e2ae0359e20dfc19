//===- RemakeCode.h - Make code that came in anew ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dump has the bytes of its code, which anybody may have edited:
//
//   exec.code @rows_0 for "x86_64-linux-rows1:x86-64-v3" "\7FELF…"
//
// The user vouches for what this compiler has made, never for these. Which code
// a call wants follows from the call, so it is made anew from that; the bytes
// in the dump are not looked at.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_REMAKECODE_H
#define DIVISI_PASSES_LOWER_REMAKECODE_H

#include "dialects/Exec/Exec.h"
#include "divisi/Codegen/GpuAssembler.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace divisi {

/// Whether `module` has code that hosts or GPUs run.
bool hasNativeCode(mlir::ModuleOp module);

/// What could not be made anew: `exec.code @rows_0, since …`.
struct ForeignCode {
  /// Calls go without these now, and their parts run one by one.
  std::vector<std::string> dropped;
  /// Calls cannot go without these: the module still has them.
  std::vector<std::string> kept;

  /// What the user is told of both, a line each.
  std::vector<std::string> warnings() const;
};

/// Replaces all code that hosts or GPUs run by what this compiler makes of the
/// calls that name it, for the same targets; what no call names is removed.
/// `verify-lower` holds of `module`.
ForeignCode remakeCode(mlir::ModuleOp module);

/// Makes of the PTX of `kernels`, all for `ptxTarget`, images with cubins, as
/// GpuAssembler does. ExitCode::Unsupported where there is no assembler: they
/// are PTX then, as before.
Status assembleKernels(llvm::ArrayRef<exec::CodeOp> kernels,
                       llvm::StringRef ptxTarget, const UserCache &cache);

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_REMAKECODE_H
