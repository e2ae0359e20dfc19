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

/// A part, and its version.
struct Part {
  StringLiteral name;
  StringLiteral version; ///< Empty: built without.
};

class VersionVerb : public Verb {
public:
  VersionVerb() : Verb("version") {}

  Status run() override;

private:
  cl::opt<bool> json{"json", cl::sub(command), on(ActsOn::Answer),
                     cl::desc("as JSON")};
};

} // namespace

static constexpr Part kParts[] = {
#define PART(name, version) {name, version},
#include "lib/Driver/BuiltOf.inc"
};

static constexpr Part kOpened[] = {
#define OPENED(name, version) {name, version},
#include "lib/Driver/BuiltOf.inc"
};

/// null for what it is built without.
static json::Object objectOf(ArrayRef<Part> parts) {
  json::Object object;
  for (const Part &part : parts) {
    object[part.name] =
        part.version.empty() ? json::Value(nullptr) : json::Value(part.version);
  }
  return object;
}

static std::string textOf(ArrayRef<Part> parts) {
  std::string text;
  for (const Part &part : parts) {
    text += text.empty() ? "" : ", ";
    text += part.version.empty() ? "no " : "";
    text += part.name;
    text += part.version.empty() ? "" : " ";
    text += part.version;
  }
  return text;
}

Status VersionVerb::run() {
  if (json) {
    jsonOut() << json::Value(json::Object{{"schema_version", 1},
                                          {"divisi", std::string(version())},
                                          {"artifact", rt::artifactVersion},
                                          {"llvm", LLVM_VERSION_STRING},
                                          {"built_of", objectOf(kParts)},
                                          {"opens", objectOf(kOpened)}})
              << "\n";
    return Status();
  }
  textOut() << "divisi " << version() << " (artifacts of version "
            << rt::artifactVersion << ")\n"
            << "built of " << textOf(kParts) << "\n"
            << "opens where it is wanted " << textOf(kOpened) << "\n";
  return Status();
}

std::unique_ptr<Verb> divisi::makeVersionVerb() {
  return std::make_unique<VersionVerb>();
}
