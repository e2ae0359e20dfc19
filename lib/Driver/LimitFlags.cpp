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
    : timeLimit(
          "time-limit", cl::sub(verb), cl::value_desc("SECONDS"), on(step),
          cl::desc("end the search this long after the start, including the "
                   "time to read the input, and keep the best so far")),
      workLimit("work-limit", cl::sub(verb), cl::value_desc("N"),
                cl::init(work), on(step),
                cl::desc("end the search after this many matrix entries, "
                         "reproducibly (1e9: about a second of one core; "
                         "unlimited if there is a time limit)")) {}

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
