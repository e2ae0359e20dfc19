//===- Console.h - What may be a terminal -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verbs print through these streams alone (test/endtoend/terminal_test.py):
// what they print holds names that come from files
// (divisi/Support/VisibleText.h). They pass on whole characters at once.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_CONSOLE_H
#define DIVISI_LIB_DRIVER_CONSOLE_H

#include "llvm/Support/raw_ostream.h"

namespace divisi {

/// Standard output, for text.
llvm::raw_ostream &textOut();
/// Standard error, for text.
llvm::raw_ostream &textErr();
/// Standard output, for JSON.
llvm::raw_ostream &jsonOut();

/// Writes out what standard output and standard error still hold.
void flushConsole();

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_CONSOLE_H
