//===- Verbs.h - The verbs of the divisi command ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_VERBS_H
#define DIVISI_LIB_DRIVER_VERBS_H

#include "divisi/Support/Status.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

#include <memory>
#include <string>
#include <vector>

namespace divisi {

/// What all programs know of a verb.
struct VerbInfo {
  llvm::StringLiteral name;        ///< What a user types.
  llvm::StringLiteral description; ///< One line of the overview.
  llvm::StringLiteral program;     ///< In libexec; empty: divisi itself.
};

/// All verbs, in the order of the help.
llvm::ArrayRef<VerbInfo> verbInfos();
/// The verb called `name`, null if there is none.
const VerbInfo *findVerb(llvm::StringRef name);

/// Where `program` is, which lies in libexec, beside the folder of this one.
std::string pathOf(llvm::StringRef program);

/// One sub-command: its flags are members of the derived class.
class Verb {
public:
  /// `name` is one of verbInfos().
  explicit Verb(llvm::StringRef name)
      : command(name, findVerb(name)->description), helpedBy(name) {}
  /// One that a program calls and users do not: it is none of these. Messages
  /// send who wants to know its options to `--help` of `helpedBy`.
  Verb(llvm::StringRef name, llvm::StringRef description,
       llvm::StringRef helpedBy)
      : command(name, description), helpedBy(helpedBy) {}
  virtual ~Verb() = default;
  /// Does what the flags say. The exit code is that of the result, whose
  /// message is printed.
  virtual Status run() = 0;
  /// Tells how it has ended, or what is wrong with the options; the exit code.
  virtual int report(const Status &status);

  llvm::cl::SubCommand command; ///< True once the parser has chosen it.
  llvm::StringRef helpedBy;     ///< Itself, of all that users call.
  /// The verb and what follows, as they were given.
  std::vector<std::string> arguments;
};

/// Those that one program has.
using Verbs = std::vector<std::unique_ptr<Verb>>;

/// Verbs of divisi-compiler.
std::unique_ptr<Verb> makeCompileVerb();
std::unique_ptr<Verb> makePlanVerb();
std::unique_ptr<Verb> makeCheckVerb();
std::unique_ptr<Verb> makeBenchVerb();
std::unique_ptr<Verb> makeExplainVerb();
std::unique_ptr<Verb> makeSimulateVerb();
std::unique_ptr<Verb> makeClusterVerb();
std::unique_ptr<Verb> makeProfileVerb();
std::unique_ptr<Verb> makeExportVerb();
std::unique_ptr<Verb> makeExportWeightsVerb();
std::unique_ptr<Verb> makeServeVerb();

/// Verbs of divisi-run.
std::unique_ptr<Verb> makeRunVerb();
std::unique_ptr<Verb> makeTrainVerb();

/// Verbs of divisi-rules.
std::unique_ptr<Verb> makeProveVerb();
std::unique_ptr<Verb> makeRulesVerb();

/// The verb of divisi-solve.
std::unique_ptr<Verb> makeSolveVerb();

/// The verb of divisi.
std::unique_ptr<Verb> makeVersionVerb();
std::unique_ptr<Verb> makeKeyVerb();

/// Prints the message of `status` if it has one (another process may have
/// printed it); the exit code.
int reportStatus(const Status &status);

/// Parses the command line, whose first argument names one of `verbs`, and runs
/// that verb; the exit code. ExitCode::Usage for what is not understood.
int runVerb(int argc, char **argv, const Verbs &verbs);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_VERBS_H
