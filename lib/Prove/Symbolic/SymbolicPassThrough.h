//===- SymbolicPassThrough.h - Pass-through dims of calls -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_SYMBOLIC_SYMBOLICPASSTHROUGH_H
#define DIVISI_LIB_PROVE_SYMBOLIC_SYMBOLICPASSTHROUGH_H

#include "divisi/Prove/Symbolic.h"

namespace divisi::rewrite {

/// Completes `made` by what its operator, a call by number of that side, says
/// at all samples. No dim goes through one that says so here and not there, or,
/// if it `tries`, is not the same at all places.
void addPassThrough(const std::vector<Instance> &samples, bool isSource,
                    size_t number, bool tries, SymbolicCall &made);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_SYMBOLIC_SYMBOLICPASSTHROUGH_H
