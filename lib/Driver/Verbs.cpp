//===- Verbs.cpp - The list of verbs, and running one ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verbs.h"

#include "ActsOn.h"
#include "CommandLine.h"
#include "Console.h"
#include "TruncatedFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

using namespace llvm;
using namespace divisi;

static constexpr VerbInfo kVerbs[] = {
    {"compile", "turn a model into an artifact for many devices",
     "divisi-compiler"},
    {"plan", "choose the strategies of a model, and write the annotated module",
     "divisi-compiler"},
    {"run", "execute an artifact on inputs, in this process or in several",
     "divisi-run"},
    {"train", "run the training steps of an artifact on a folder of samples",
     "divisi-run"},
    {"export",
     "write a plan as PyTorch's DTensor placements, or as annotations of the "
     "ONNX model",
     "divisi-compiler"},
    {"export-weights",
     "write trained weights into the ONNX model that they came from, or as "
     ".safetensors",
     "divisi-compiler"},
    {"check",
     "compare an artifact with expected outputs, or a model on N devices with "
     "one",
     "divisi-compiler"},
    {"bench",
     "measure run and wait times of an artifact or a model, or of two "
     "alternately",
     "divisi-compiler"},
    {"explain",
     "show the predicted performance of a plan: of a model, a dump, or an "
     "artifact",
     "divisi-compiler"},
    {"simulate",
     "show when devices do what under a plan, and write it as a trace",
     "divisi-compiler"},
    {"cluster",
     "print the description of a machine as YAML, to edit and plan for",
     "divisi-compiler"},
    {"profile", "measure this machine and describe it as YAML, to plan for",
     "divisi-compiler"},
    {"prove",
     "check whether substitution rules are true: those of a file, or Divisi's "
     "own",
     "divisi-rules"},
    {"rules",
     "generate substitution rules, check what they entail, or select some",
     "divisi-rules"},
    {"solve",
     "find the cheapest strategies of a planning problem, or --check a "
     "solution",
     "divisi-solve"},
    {"key",
     "print this user's public key, make one, or list whose native code runs",
     ""},
    {"version", "print the versions of this program and its parts", ""},
};

ArrayRef<VerbInfo> divisi::verbInfos() { return kVerbs; }

const VerbInfo *divisi::findVerb(StringRef name) {
  const VerbInfo *found =
      find_if(kVerbs, [&](const VerbInfo &verb) { return verb.name == name; });
  return found == std::end(kVerbs) ? nullptr : found;
}

std::string divisi::pathOf(StringRef program) {
  SmallString<256> path(sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&divisi::pathOf)));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "libexec", program);
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

int divisi::reportStatus(const Status &status) {
  if (!status.message().empty()) {
    sayError() << status.message();
  }
  return static_cast<int>(status.code());
}

int Verb::report(const Status &status) { return reportStatus(status); }

/// What LLVM's parser still refuses it has printed.
static Status parse(Verb &verb, int argc, char **argv) {
  Status status =
      checkArguments(verb.command, ArrayRef(argv + 2, size_t(argc - 2)));
  if (status.isOk() &&
      !cl::ParseCommandLineOptions(
          argc, argv,
          "divisi: compiles deep-learning models for many devices\n",
          &nulls())) {
    status = Status(ExitCode::Usage, "the command line is not understood");
  }
  if (status.isOk()) {
    status = checkGivenOnce(verb.command);
  }
  return status.isOk() ? status
                       : Status(status.code(), status.message() + "; divisi " +
                                                   verb.helpedBy.str() +
                                                   " --help lists the options");
}

/// --help of a verb is about its options, not about ways to list them.
static void tidyHelp(cl::SubCommand &verb) {
  DenseMap<StringRef, cl::Option *> &options = cl::getRegisteredOptions(verb);
  for (StringRef name : {"help-list", "help-list-hidden"}) {
    options.erase(name);
  }
  cl::Option &help = *options.at("help");
  help.Categories.assign(1, &optionsOn(ActsOn::Answer));
  help.setDescription("print this text");
}

static Status noVerb(StringRef name) {
  std::vector<std::string> names;
  for (const VerbInfo &verb : kVerbs) {
    names.push_back(verb.name.str());
  }
  return Status(ExitCode::Usage, "unknown verb '" + name.str() + "'" +
                                     suggest(name, names) +
                                     "; divisi without arguments lists them");
}

/// A crash shows its stack by the program's own symbols, and whose bug it is.
/// llvm-symbolizer would take seconds, in which the processes that wait for a
/// crashed one give up before anybody knows that it crashed.
static void tidyCrashes() {
  setenv("LLVM_DISABLE_SYMBOLIZATION", "1", /*overwrite=*/0);
  setBugReportMsg("divisi: a crash is a bug of Divisi; please report it with "
                  "the command, its input and this stack:\n");
}

int divisi::runVerb(int argc, char **argv, const Verbs &verbs) {
  InitLLVM init(argc, argv);
  tidyCrashes();
  // A file that may not grow is an error of the write, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  // Nor is a file that became shorter.
  reportTruncatedFiles();
  StringRef name = argc < 2 ? StringRef() : argv[1];
  auto found = find_if(
      verbs, [&](const auto &verb) { return verb->command.getName() == name; });
  if (found == verbs.end()) {
    return reportStatus(noVerb(name));
  }
  Verb &verb = **found;
  verb.arguments.assign(argv + 1, argv + argc);
  tidyHelp(verb.command);
  Status status = parse(verb, argc, argv);
  return verb.report(status.isOk() ? verb.run() : status);
}
