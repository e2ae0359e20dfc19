//===- VersionVerb.cpp - divisi version -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Verbs.h"
#include "divisi/Support/Version.h"
#include "divisi/runtime/artifact/ArtifactVersion.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;

namespace {

class VersionVerb : public Verb {
public:
  VersionVerb() : Verb("version") {}

  Status run() override {
    if (json) {
      jsonOut() << json::Value(json::Object{{"schema_version", 1},
                                            {"divisi", std::string(version())},
                                            {"artifact", rt::artifactVersion},
                                            {"llvm", LLVM_VERSION_STRING}})
                << "\n";
      return Status();
    }
    textOut() << "divisi " << version() << " (artifacts of version "
              << rt::artifactVersion << ", LLVM " << LLVM_VERSION_STRING
              << ")\n";
    return Status();
  }

private:
  cl::opt<bool> json{"json", cl::sub(command), on(ActsOn::Answer),
                     cl::desc("as JSON")};
};

} // namespace

std::unique_ptr<Verb> divisi::makeVersionVerb() {
  return std::make_unique<VersionVerb>();
}
