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

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <vector>

using namespace llvm;
using namespace divisi;

static constexpr StringLiteral kOverview =
    "divisi: writes the parts for many devices of a model written for one\n";

/// Whether LLVM's parser accepted the command line; it has said why if not.
static bool parse(int argc, char **argv) {
  std::string errors;
  raw_string_ostream stream(errors);
  if (cl::ParseCommandLineOptions(argc, argv, kOverview, &stream)) {
    return true;
  }
  errs() << errors;
  return false;
}

static int report(const Status &status) {
  if (!status.isOk()) {
    errs() << "divisi: error: " << status.message() << "\n";
  }
  return static_cast<int>(status.code());
}

int divisi::runTool(int argc, char **argv) {
  InitLLVM init(argc, argv);
  std::vector<std::unique_ptr<Verb>> verbs = makeVerbs();
  if (argc < 2) {
    errs() << kOverview << "usage: divisi VERB [options]\n\n";
    for (const auto &verb : verbs) {
      errs() << formatv("  {0,-10}{1}\n", verb->command.getName(),
                        verb->command.getDescription());
    }
    errs() << "\ndivisi VERB --help explains one\n";
    return static_cast<int>(ExitCode::Usage);
  }
  if (StringRef(argv[1]) == "--version") {
    argv[1] = const_cast<char *>("version");
  }
  if (!parse(argc, argv)) {
    return static_cast<int>(ExitCode::Usage);
  }
  for (const auto &verb : verbs) {
    if (verb->command) {
      return report(verb->run());
    }
  }
  return report(Status(ExitCode::Usage,
                       "unknown verb '" + std::string(argv[1]) +
                           "'; divisi without arguments lists them"));
}
