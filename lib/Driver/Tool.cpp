//===- Tool.cpp - The divisi command ----------------------------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Driver/Tool.h"

#include "Verbs.h"
#include "divisi/Support/Version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace divisi;

static constexpr StringLiteral kOverview =
    "divisi: writes the parts for many devices of a model written for one\n";

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
  if (cl::ParseCommandLineOptions(argc, argv, kOverview, &stream)) {
    return Status();
  }
  // A value that does not parse is printed by LLVM itself.
  return Status(ExitCode::Usage,
                (errors.empty() ? "an option got a value that it does not take"
                                : reword(errors)) +
                    "; divisi VERB --help lists the options");
}

static int report(const Status &status) {
  if (!status.isOk()) {
    errs() << "divisi: error: " << status.message() << "\n";
  }
  return static_cast<int>(status.code());
}

static void printVerbs(ArrayRef<std::unique_ptr<Verb>> verbs, raw_ostream &os) {
  os << kOverview << "usage: divisi VERB [options]\n\n";
  for (const auto &verb : verbs) {
    os << formatv("  {0,-10}{1}\n", verb->command.getName(),
                  verb->command.getDescription());
  }
  os << "\ndivisi VERB --help lists the options of one\n";
}

/// Lets the threads of kernels sleep while they wait for each other. By default
/// libgomp's spin for milliseconds: on a machine with other work, or with more
/// ranks than cores, they spin away the time in which the thread that they wait
/// for could run, and a model takes several times as long. libgomp reads the
/// environment when it is loaded, before main; so the program starts once more,
/// unless the user has chosen, or that fails (then it is merely slow).
static void waitAsleep(char **argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) {
    return;
  }
  std::string self = sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&divisi::runTool));
  if (!self.empty() && setenv("OMP_WAIT_POLICY", "passive", 1) == 0) {
    execv(self.c_str(), argv);
  }
}

int divisi::runTool(int argc, char **argv) {
  // Only these verbs run kernels on threads.
  if (argc > 1 && is_contained({"run", "check"}, StringRef(argv[1]))) {
    waitAsleep(argv);
  }
  InitLLVM init(argc, argv);
  // A file that may not grow is an error of the write, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  std::vector<std::unique_ptr<Verb>> verbs = makeVerbs();
  if (argc < 2) {
    printVerbs(verbs, errs());
    return report(
        Status(ExitCode::Usage,
               "no verb is given; divisi VERB --help explains one of these"));
  }
  // LLVM's own help would list the options of LLVM.
  if (StringRef first = argv[1];
      first == "--help" || first == "-h" || first == "help") {
    printVerbs(verbs, outs());
    return static_cast<int>(ExitCode::Ok);
  }
  if (StringRef(argv[1]) == "--version") {
    argv[1] = const_cast<char *>("version");
  }
  if (Status status = parse(argc, argv); !status.isOk()) {
    return report(status);
  }
  for (const auto &verb : verbs) {
    if (verb->command) {
      return report(verb->run());
    }
  }
  return report(
      Status(ExitCode::Usage, "unknown verb '" + std::string(argv[1]) +
                                  "'; divisi without arguments lists them"));
}
