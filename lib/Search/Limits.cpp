//===- Limits.cpp - Limits of a search, as callers give them --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Search/Limits.h"

#include <cmath>
#include <limits>

using namespace divisi;
using namespace divisi::search;

Status GivenLimits::check() const {
  if (seconds && !(*seconds > 0 && std::isfinite(*seconds))) {
    return Status(ExitCode::Usage, "--time-limit is " +
                                       std::to_string(*seconds) +
                                       ", expected seconds above 0");
  }
  if (work && *work < 0) {
    return Status(ExitCode::Usage, "--work-limit is " + std::to_string(*work) +
                                       ", expected 0 or more");
  }
  return Status();
}

int64_t GivenLimits::workOr(int64_t byDefault) const {
  return work      ? *work
         : seconds ? std::numeric_limits<int64_t>::max()
                   : byDefault;
}
