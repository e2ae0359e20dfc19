//===- Tool.h - The divisi command ------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per verb behind one function that picks the verb. Data goes to
// stdout, messages to stderr; the exit codes are those of Support/Status.h.
//
// The command is five programs, because most of what the compiler's verbs link
// (MLIR, LLVM, ONNX: 80 MB in memory) is loaded before main, HiGHS, which
// searches for plans, runs none, and Z3, which proves rules, compiles no model:
//
//   bin/divisi                version, the overview; starts the others
//   libexec/divisi-run        run
//   libexec/divisi-solve      solve
//   libexec/divisi-rules      prove, rules
//   libexec/divisi-compiler   the other verbs
//
// `divisi compile …` becomes another program by execv: the process, its
// signals, its files and its exit code stay one.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DRIVER_TOOL_H
#define DIVISI_DRIVER_TOOL_H

namespace divisi {

/// Runs `divisi VERB …` and returns the exit code, or does not return because
/// the process has become another program. ExitCode::File if that is not where
/// it belongs.
int runTool(int argc, char **argv);

/// The same for the verbs of divisi-compiler. `argv[0]` is that of divisi.
int runCompilerTool(int argc, char **argv);

/// The same for the verbs of divisi-run.
int runRunTool(int argc, char **argv);

/// The same for the verb of divisi-solve.
int runSolveTool(int argc, char **argv);

/// The same for the verbs of divisi-rules.
int runRulesTool(int argc, char **argv);

/// One of these.
using Tool = int(int argc, char **argv);

/// What main() does: runs `tool` and returns its exit code. ExitCode::File if
/// what it has printed could not be written, where it would be Ok; what could
/// not be said on stderr changes nothing. ExitCode::Device, and a message, if
/// memory or threads run out in a library that cannot say so.
int runProgram(Tool *tool, int argc, char **argv);

} // namespace divisi

#endif // DIVISI_DRIVER_TOOL_H
