//===- LimitFlags.h - Flags that limit a search for a plan ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_LIMITFLAGS_H
#define DIVISI_LIB_DRIVER_LIMITFLAGS_H

#include "ActsOn.h"
#include "divisi/Search/Limits.h"

#include "llvm/Support/CommandLine.h"

namespace divisi {

/// How long a solver may search: the same flags wherever one runs.
struct LimitFlags {
  /// Adds --time-limit and --work-limit to `verb`. The time counts from the
  /// process's start; `work` is the budget without flags.
  LimitFlags(llvm::cl::SubCommand &verb, ActsOn step, int64_t work);

  /// What was given, unchecked. Seconds count from the process's start.
  search::GivenLimits given() const;

  /// As they were given.
  llvm::cl::opt<double> timeLimit;
  llvm::cl::opt<int64_t> workLimit;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_LIMITFLAGS_H
