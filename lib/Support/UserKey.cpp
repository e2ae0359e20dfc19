//===- UserKey.cpp - A secret of the user who runs us ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/UserKey.h"
#include "divisi/Support/SecretFile.h"
#include "divisi/Support/Sha256.h"

#include <algorithm>

using namespace divisi;

static SecretFile userKey() { return {"native.key", "native code"}; }

std::string divisi::userKeyPath() { return userKey().path(); }

static Expected<std::string> keyFor(KeyUse use,
                                    const Expected<std::string> &secret) {
  return secret ? deriveKey(*secret, use == KeyUse::Signing
                                         ? "divisi-native-code-signing-1"
                                         : "divisi-native-code-cache-1")
                : secret;
}

Expected<std::string> divisi::readUserKey(KeyUse use) {
  return keyFor(use, userKey().read());
}

Expected<std::string> divisi::makeUserKey(KeyUse use) {
  return keyFor(use, userKey().make());
}

std::string divisi::deriveKey(const std::string &secret,
                              const std::string &label) {
  return hmacSha256(secret, label + '\x01');
}

std::string divisi::hmacSha256(const std::string &key,
                               const std::string &text) {
  constexpr size_t block = 64;
  std::string padded = key.size() > block ? Sha256::of(key) : key;
  padded.resize(block, '\0');
  auto mask = [&](char with) {
    std::string masked = padded;
    for (char &byte : masked) {
      byte = static_cast<char>(byte ^ with);
    }
    return masked;
  };
  return Sha256::of(mask(0x5c) + Sha256::of(mask(0x36) + text));
}

bool divisi::areEqualCodes(const std::string &a, const std::string &b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}
