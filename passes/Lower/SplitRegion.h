//===- SplitRegion.h - Fused calls become calls of their parts --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_SPLITREGION_H
#define DIVISI_PASSES_LOWER_SPLITREGION_H

#include "dialects/Exec/Exec.h"

namespace divisi {

/// Lets each part of a fused call be a call of its own, with buffers for what
/// they pass to each other, if `takes` takes all of them; else all is as it was.
/// Whether it is done. Comes before memory is planned and queues are ordered.
bool splitRegion(exec::CallOp call,
                 llvm::function_ref<bool(exec::CallOp part)> takes);

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_SPLITREGION_H
