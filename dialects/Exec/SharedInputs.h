//===- SharedInputs.h - Inputs without a batch ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_SHAREDINPUTS_H
#define DIVISI_DIALECTS_EXEC_SHAREDINPUTS_H

#include "llvm/ADT/StringRef.h"

namespace divisi::exec {

/// Of an `exec.entry`: which of its inputs have no batch, though they are no
/// scalars (an array of i64); not there if none.
inline constexpr llvm::StringLiteral kSharedInputsAttr = "exec.shared_inputs";

} // namespace divisi::exec

#endif // DIVISI_DIALECTS_EXEC_SHAREDINPUTS_H
