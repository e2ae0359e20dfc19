//===- ToleranceFlags.h - How far floats may be apart -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_TOLERANCEFLAGS_H
#define DIVISI_LIB_DRIVER_TOLERANCEFLAGS_H

#include "divisi/Compiler/CompareTensors.h"
#include "divisi/Support/Status.h"

#include "llvm/Support/CommandLine.h"

namespace divisi {

/// --rtol and --atol.
struct ToleranceFlags {
  /// Adds them to `verb`.
  explicit ToleranceFlags(llvm::cl::SubCommand &verb);

  /// Whether one of them is given.
  bool isGiven() const {
    return rtol.getNumOccurrences() > 0 || atol.getNumOccurrences() > 0;
  }
  /// What is given; ExitCode::Usage unless that is a number of at least 0.
  Expected<Tolerance> read() const;

  /// As they were given.
  llvm::cl::opt<double> rtol;
  llvm::cl::opt<double> atol;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_TOLERANCEFLAGS_H
