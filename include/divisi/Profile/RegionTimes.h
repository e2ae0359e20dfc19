//===- RegionTimes.h - Whether native code is faster ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PROFILE_REGIONTIMES_H
#define DIVISI_PROFILE_REGIONTIMES_H

#include "divisi/runtime/kernels/Kernel.h"

namespace divisi {

/// What a call takes on one thread of what lies in the cache, in nanoseconds.
struct RegionTimes {
  double code;  ///< By generated code.
  double parts; ///< By kernels, part by part.
};

/// Of `site`, for which there is code, by the table that bench/codegen measures
/// (PartTimes.inc); nothing if it is of types or has parts that are not in it.
std::optional<RegionTimes> regionTimes(const rt::CallSite &site);

} // namespace divisi

#endif // DIVISI_PROFILE_REGIONTIMES_H
