//===- Verbs.cpp - The list of verbs, and running one ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verbs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

using namespace llvm;
using namespace divisi;

static constexpr VerbInfo kVerbs[] = {
    {"compile", "from a model to a program for many devices", true, false},
    {"plan", "from a model to its plan: the annotated module", true, false},
    {"run", "an artifact on inputs, in this process", true, true},
    {"check",
     "an artifact against expected outputs, or a model on N devices against "
     "one",
     true, true},
    {"explain",
     "what a plan does and what it costs, of a model, of a dump, or of an "
     "artifact",
     true, false},
    {"solve",
     "the cheapest strategies of a planning problem, or --check of a solution",
     false, false},
    {"version", "what this program and its parts are", false, false},
};

ArrayRef<VerbInfo> divisi::verbInfos() { return kVerbs; }

const VerbInfo *divisi::findVerb(StringRef name) {
  const VerbInfo *found =
      find_if(kVerbs, [&](const VerbInfo &verb) { return verb.name == name; });
  return found == std::end(kVerbs) ? nullptr : found;
}

int divisi::reportStatus(const Status &status) {
  if (!status.isOk()) {
    errs() << "divisi: error: " << status.message() << "\n";
  }
  return static_cast<int>(status.code());
}

/// LLVM's words about a command line, as one message of ours: it begins lines
/// with the program's name and sentences with a capital.
static std::string reword(StringRef errors) {
  SmallVector<StringRef> lines;
  errors.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string message;
  for (StringRef line : lines) {
    line.consume_front("divisi: ");
    line = line.split("  Try: ").first.split(" See: ").first;
    line = line.rtrim(".!: ");
    if (!message.empty()) {
      message += "; ";
    }
    message += toLower(line.front());
    message += line.drop_front();
  }
  return message;
}

/// Fails with ExitCode::Usage where LLVM's parser refuses the command line.
static Status parse(int argc, char **argv) {
  std::string errors;
  raw_string_ostream stream(errors);
  if (cl::ParseCommandLineOptions(
          argc, argv,
          "divisi: writes the parts for many devices of a model written for "
          "one\n",
          &stream)) {
    return Status();
  }
  // A value that does not parse is printed by LLVM itself.
  return Status(ExitCode::Usage,
                (errors.empty() ? "an option got a value that it does not take"
                                : reword(errors)) +
                    "; divisi VERB --help lists the options");
}

int divisi::runVerb(int argc, char **argv, const Verbs &verbs) {
  InitLLVM init(argc, argv);
  // A file that may not grow is an error of the write, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  if (Status status = parse(argc, argv); !status.isOk()) {
    return reportStatus(status);
  }
  for (const auto &verb : verbs) {
    if (verb->command) {
      return reportStatus(verb->run());
    }
  }
  return reportStatus(
      Status(ExitCode::Usage,
             argc < 2 ? "no verb is given"
                      : "unknown verb '" + std::string(argv[1]) +
                            "'; divisi without arguments lists them"));
}
