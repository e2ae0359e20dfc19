//===- HostSecret.cpp - How hosts of a run know each other ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/HostSecret.h"
#include "divisi/Support/SecretFile.h"
#include "divisi/Support/UserKey.h"

#include <cstdlib>
#include <sys/random.h>

using namespace divisi;
using namespace divisi::rt;

/// Fewer could be guessed.
static constexpr size_t minKey = 16;

/// What a code is of: keys, proofs and texts have nothing in common.
static std::string codeOf(const std::string &key, std::string_view purpose,
                          std::string_view bytes) {
  std::string text(purpose);
  text += '\0';
  text += bytes;
  return hmacSha256(key, text);
}

std::string TextCodes::next(std::string_view text) {
  if (!isOn()) {
    return {};
  }
  return codeOf(key_, std::to_string(count_++), text);
}

HostSecret::HostSecret(std::string key, const std::string &artifact)
    : key_(codeOf(key, "hosts", {})),
      artifactKey_(codeOf(key_, "artifact", artifact)) {}

Expected<HostSecret> HostSecret::find(const std::string &artifact) {
  if (const char *key = std::getenv("DIVISI_HOSTS_KEY")) {
    std::string text = key;
    if (text.size() < minKey) {
      return makeError(ExitCode::Usage, "DIVISI_HOSTS_KEY has ", text.size(),
                       " characters, expected ", minKey,
                       " at least, that nobody can guess and all hosts have");
    }
    return HostSecret(text, artifact);
  }
  auto key = SecretFile{"hosts.key", "the hosts of a run"}.make();
  return key ? Expected(HostSecret(*key, artifact)) : key.status();
}

/// All that both ends know of a meeting, and that is of no other.
static std::string codeOf(const std::string &key, HostEnd end,
                          std::string_view purpose, const Greeting &greeting,
                          std::string_view nonce) {
  std::string name(end == HostEnd::First ? "first " : "other ");
  return codeOf(key, name.append(purpose),
                makeGreeting(greeting).append(nonce));
}

std::string HostSecret::prove(HostEnd end, const Greeting &greeting,
                              std::string_view nonce) const {
  return codeOf(key_, end, "proof", greeting, nonce) +
         codeOf(artifactKey_, end, "proof", greeting, nonce);
}

Proof HostSecret::check(HostEnd end, const Greeting &greeting,
                        std::string_view nonce, std::string_view proof) const {
  std::string expected = prove(end, greeting, nonce);
  if (areEqualCodes(expected, std::string(proof))) {
    return Proof::Same;
  }
  return proof.size() == proofBytes &&
                 areEqualCodes(expected.substr(0, codeBytes),
                               std::string(proof.substr(0, codeBytes)))
             ? Proof::Artifact
             : Proof::None;
}

TextCodes HostSecret::codesOf(HostEnd end, const Greeting &greeting,
                              std::string_view nonce) const {
  return TextCodes(codeOf(artifactKey_, end, "texts", greeting, nonce));
}

std::string divisi::rt::makeNonce() {
  std::string nonce(nonceBytes, '\0');
  if (getrandom(nonce.data(), nonce.size(), 0) != ssize_t(nonceBytes)) {
    nonce.clear();
  }
  return nonce;
}
