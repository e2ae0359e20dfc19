//===- Tool.cpp - The divisi command --------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Driver/Tool.h"

#include "Console.h"
#include "Verbs.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace llvm;
using namespace divisi;

static void printOverview(raw_ostream &os) {
  os << "divisi: compiles deep-learning models for many devices\n"
     << "usage: divisi VERB [options]\n\n";
  for (const VerbInfo &verb : verbInfos()) {
    os << formatv("  {0,-16}{1}\n", verb.name, verb.description);
  }
  os << "\ndivisi VERB --help lists the options of one\n";
}

/// Becomes the program of the verb, which lies beside the folder of this one.
/// Returns only if that fails.
static Status start(const VerbInfo &verb, char **argv) {
  std::string path = pathOf(verb.program);
  execv(path.c_str(), argv);
  return Status(ExitCode::File, ("cannot start '" + path + "', which " +
                                 verb.name + " needs: " + std::strerror(errno) +
                                 "; install it with divisi, or build both")
                                    .str());
}

int divisi::runTool(int argc, char **argv) {
  if (argc < 2) {
    printOverview(textErr());
    return reportStatus(
        Status(ExitCode::Usage,
               "no verb is given; divisi VERB --help explains one of these"));
  }
  StringRef first = argv[1];
  // LLVM's own help would list the options of LLVM.
  if (first == "--help" || first == "-h" || first == "help") {
    printOverview(textOut());
    return static_cast<int>(ExitCode::Ok);
  }
  if (const VerbInfo *verb = findVerb(first); verb && !verb->program.empty()) {
    return reportStatus(start(*verb, argv));
  }
  if (first == "--version") {
    argv[1] = const_cast<char *>("version");
  }
  Verbs verbs;
  verbs.push_back(makeKeyVerb());
  verbs.push_back(makeVersionVerb());
  return runVerb(argc, argv, verbs);
}
