//===- LimitFlags.cpp - Flags that limit a search for a plan --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LimitFlags.h"

using namespace llvm;
using namespace divisi;

LimitFlags::LimitFlags(cl::SubCommand &verb, ActsOn step, int64_t work)
    : timeLimit("time-limit", cl::sub(verb), cl::value_desc("SECONDS"),
                on(step),
                cl::desc("end the search so long after the start, reading "
                         "included, and keep the best so far")),
      workLimit("work-limit", cl::sub(verb), cl::value_desc("N"),
                cl::init(work), on(step),
                cl::desc("end the search after so many matrix entries, the "
                         "same each time (1e9: about a second of one core; "
                         "without end if there is a time limit)")) {}

search::GivenLimits LimitFlags::given() const {
  search::GivenLimits limits;
  if (timeLimit.getNumOccurrences()) {
    limits.seconds = timeLimit;
  }
  if (workLimit.getNumOccurrences()) {
    limits.work = workLimit;
  }
  return limits;
}
