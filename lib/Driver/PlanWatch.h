//===- PlanWatch.h - Planning, seen from the command line -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a plan is made, the first SIGINT or SIGTERM keeps the best plan so far
// and the next one ends the process; before and after, where nothing could be
// kept, the first one ends it. On a terminal a line shows phase, best plan,
// bound and gap.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_PLANWATCH_H
#define DIVISI_LIB_DRIVER_PLANWATCH_H

#include "divisi/Compiler/Compilation.h"

#include <optional>

namespace divisi {

/// Lets signals and `timeLimit` (seconds since the process's start) cut the
/// planning of a compilation with `options`, and says on stderr what they have
/// cut and what the planner warns of. It lives as long as the options do.
void watchPlanning(CompileOptions &options, std::optional<double> timeLimit);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_PLANWATCH_H
