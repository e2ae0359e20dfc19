//===- Help.h - What divisi-opt shows of itself -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TOOLS_DIVISI_OPT_HELP_H
#define DIVISI_TOOLS_DIVISI_OPT_HELP_H

#include "llvm/ADT/ArrayRef.h"

namespace divisi {

/// Whether one of `arguments` is --help or -h.
bool wantsHelp(llvm::ArrayRef<char *> arguments);

/// Prints Divisi's pipelines and passes, stage by stage, to stdout. They are
/// registered. What MLIR and LLVM bring, --help-hidden shows.
void printHelp();

} // namespace divisi

#endif // DIVISI_TOOLS_DIVISI_OPT_HELP_H
