//===- FormatLimits.h - What an artifact may hold ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Limits that the reader of artifacts enforces and the compiler keeps.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_FORMATLIMITS_H
#define DIVISI_SUPPORT_FORMATLIMITS_H

namespace divisi {

/// Of the operators that one fused call computes, and of its operands.
inline constexpr int mostFusedParts = 1024;

} // namespace divisi

#endif // DIVISI_SUPPORT_FORMATLIMITS_H
