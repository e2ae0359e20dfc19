//===- PassThrough.h - Pass-through dims of operators -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_RULES_PASSTHROUGH_H
#define DIVISI_LIB_RULES_PASSTHROUGH_H

#include "divisi/Layout/Loops.h"
#include "divisi/Rules/Instance.h"

namespace divisi::rewrite {

/// Which dims go through an operator with this nest, as it says. What it does
/// at a place may still depend on which place it is.
PassThroughDims passThroughDims(const LoopNest &nest);

/// Whether all dims of all operands go through, those along their last ones,
/// but for such of extent 1 that are repeated.
bool isElementwise(const LoopNest &nest, const PassThroughDims &passThrough);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_RULES_PASSTHROUGH_H
