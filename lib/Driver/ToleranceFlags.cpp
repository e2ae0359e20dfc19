//===- ToleranceFlags.cpp - How far floats may be apart -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToleranceFlags.h"

#include "ActsOn.h"

#include <cmath>

using namespace llvm;
using namespace divisi;

ToleranceFlags::ToleranceFlags(cl::SubCommand &verb)
    : rtol("rtol", cl::sub(verb), on(ActsOn::Answer), cl::value_desc("R"),
           cl::init(1e-3),
           cl::desc("floats may differ by A + R*|expected| "
                    "(default: 0.001; more for f16 and bf16, less for f64)")),
      atol("atol", cl::sub(verb), on(ActsOn::Answer), cl::value_desc("A"),
           cl::init(0),
           cl::desc("the A of --rtol (default: 0.0001 of the largest expected "
                    "element of the output)")) {}

divisi::Expected<Tolerance> ToleranceFlags::read() const {
  const std::pair<const char *, double> given[] = {{"--rtol ", rtol},
                                                   {"--atol ", atol}};
  for (const auto &[flag, value] : given) {
    if (!(value >= 0) || std::isinf(value)) {
      return makeError(ExitCode::Usage, flag, value,
                       ": expected a number that is at least 0");
    }
  }
  Tolerance tolerance;
  if (rtol.getNumOccurrences()) {
    tolerance.relative = rtol;
  }
  if (atol.getNumOccurrences()) {
    tolerance.absolute = atol;
  }
  return tolerance;
}
