//===- Tool.h - The divisi command ------------------------------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per verb behind one function that picks the verb. Data goes to
// stdout, talk to stderr; the exit codes are those of Support/Status.h.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DRIVER_TOOL_H
#define DIVISI_DRIVER_TOOL_H

namespace divisi {

/// Runs `divisi VERB …` and returns the exit code.
int runTool(int argc, char **argv);

} // namespace divisi

#endif // DIVISI_DRIVER_TOOL_H
