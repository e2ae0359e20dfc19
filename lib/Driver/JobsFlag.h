//===- JobsFlag.h - How many processes work at once -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_JOBSFLAG_H
#define DIVISI_LIB_DRIVER_JOBSFLAG_H

#include "ActsOn.h"

#include "divisi/Support/Status.h"

#include "llvm/Support/CommandLine.h"

#include <algorithm>
#include <string>
#include <thread>

namespace divisi {

/// --jobs: processes that are at work at once, of which what comes out does not
/// depend.
class JobsFlag : public llvm::cl::opt<unsigned> {
public:
  static constexpr unsigned kMost = 64; ///< The most that --jobs takes.

  /// Adds it to `verb`; `jobs` is its default.
  JobsFlag(llvm::cl::SubCommand &verb, unsigned jobs,
           const llvm::cl::desc &help)
      : opt("jobs", llvm::cl::sub(verb), on(ActsOn::Answer),
            llvm::cl::value_desc("N"), llvm::cl::init(jobs), help) {}

  /// As many as this process has cores.
  static unsigned cores() {
    return std::clamp(std::thread::hardware_concurrency(), 1u, kMost);
  }
  /// ExitCode::Usage for a number that is none.
  Status check() const {
    if (getValue() >= 1 && getValue() <= kMost) {
      return Status();
    }
    return Status(ExitCode::Usage, "--jobs " + std::to_string(getValue()) +
                                       ": expected a number from 1 to " +
                                       std::to_string(kMost));
  }
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_JOBSFLAG_H
