//===- NewInputs.h - Inputs that bodies overwrite ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body may write what it carries where it got it. The buffer that it writes is
// a second `exec.input` of that index, with the attribute `exec.new_value`:
//
//   %s = exec.input 2 : !b
//   %v = exec.input 2 {exec.new_value} : !b
//   exec.call "nn.insert"(%s, %r, %i) into (%v)
//   exec.output 1 %v : !b
//
// Where all programs of a body do so, or return the input as it is, the spare of
// their `exec.loop` is its output.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_EXEC_NEWINPUTS_H
#define DIVISI_DIALECTS_EXEC_NEWINPUTS_H

#include "dialects/Exec/Exec.h"

namespace divisi::exec {

/// Marks an `exec.input` as the value for the next iteration.
inline constexpr llvm::StringLiteral kNewValueAttr = "exec.new_value";

/// Whether it is the new value, whose writer overwrites the old one.
inline bool isNewValue(InputOp input) { return input->hasAttr(kNewValueAttr); }

} // namespace divisi::exec

#endif // DIVISI_DIALECTS_EXEC_NEWINPUTS_H
