//===- Pointwise.h - Pass-through dims of operators -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_RULES_POINTWISE_H
#define DIVISI_LIB_RULES_POINTWISE_H

#include "divisi/Layout/Loops.h"

namespace divisi::rewrite {

/// Whether each element of an operator's result is of those at its place, as
/// the operator with this nest says; dims of extent 1 are repeated.
bool isElementwise(const LoopNest &nest);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_RULES_POINTWISE_H
