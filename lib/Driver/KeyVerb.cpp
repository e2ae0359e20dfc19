//===- KeyVerb.cpp - Keys of native code ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Verbs.h"

#include "divisi/Support/Signature.h"
#include "divisi/Support/UserKey.h"

#include <unistd.h>

using namespace llvm;
using namespace divisi;

namespace {

class KeyVerb : public Verb {
public:
  KeyVerb() : Verb("key") {}
  Status run() override;

private:
  Status show(bool makes);
  Status list();

  cl::opt<std::string> action_{cl::Positional, cl::sub(command), cl::ZeroOrMore,
                               cl::init("show"),
                               cl::desc("[show|make|trusted] (default: show)")};
};

} // namespace

/// The public key alone is on stdout: that is a line of a file for --trust.
Status KeyVerb::show(bool makes) {
  auto secret =
      makes ? makeUserKey(KeyUse::Signing) : readUserKey(KeyUse::Signing);
  if (!secret) {
    return secret.status().code() != ExitCode::File || makes
               ? secret.status()
               : makeError(ExitCode::File, secret.status().message(),
                           "; 'divisi key make' makes one");
  }
  textOut() << publicKeyText(publicKeyOf(*secret)) << "\n";
  sayNote() << "the secret key is in '" << userKeyPath()
            << "'; who has it signs as this user";
  return Status();
}

/// Whose code `run` runs without being told.
Status KeyVerb::list() {
  if (auto secret = readUserKey(KeyUse::Signing)) {
    textOut() << publicKeyText(publicKeyOf(*secret)) << " (this user's own)\n";
  } else {
    sayNote() << secret.status().message();
  }
  std::string path = trustedKeysPath();
  if (access(path.c_str(), F_OK) != 0) {
    sayNote() << "there is no '" << path << "', which would name more";
    return Status();
  }
  auto keys = readTrustedKeys(path);
  if (!keys) {
    return keys.status();
  }
  for (const TrustedKey &key : *keys) {
    textOut() << publicKeyText(key.publicKey)
              << (key.name.empty() ? "" : " " + key.name) << "\n";
  }
  return Status();
}

Status KeyVerb::run() {
  StringRef action = action_.getValue();
  if (action == "trusted") {
    return list();
  }
  if (action != "show" && action != "make") {
    return makeError(ExitCode::Usage, "'", action_.getValue(),
                     "': expected show, make or trusted");
  }
  return show(action == "make");
}

std::unique_ptr<Verb> divisi::makeKeyVerb() {
  return std::make_unique<KeyVerb>();
}
