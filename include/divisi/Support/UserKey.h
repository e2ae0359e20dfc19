//===- UserKey.h - The user's secret key ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the user, or a process that may write the user's files anyway, has the
// secret. So native code that is signed with it is trusted like a program of
// the user's. What it is used for has keys of its own, which are derived from
// it: to know one tells nothing of another.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_USERKEY_H
#define DIVISI_SUPPORT_USERKEY_H

#include "divisi/Support/Status.h"

#include <string>

namespace divisi {

/// What a key is used for.
enum class KeyUse {
  Signing, ///< The secret that signs native code (Signature.h).
  Cache    ///< The code of what is kept (UserCache).
};

/// Of the file of the secret: see SecretFile.
std::string userKeyPath();

/// The key for one use, of 32 bytes. Fails as SecretFile::read does.
Expected<std::string> readUserKey(KeyUse use);

/// The same; a secret is made if there is none.
Expected<std::string> makeUserKey(KeyUse use);

/// A key of 32 bytes that only who has `secret` can derive for `label`
/// (HKDF-Expand of RFC 5869, by SHA-256). The secret's bytes are random.
std::string deriveKey(const std::string &secret, const std::string &label);

/// HMAC-SHA256 (RFC 2104) of `text`; 32 bytes.
std::string hmacSha256(const std::string &key, const std::string &text);

/// Whether two codes are equal, in a time that does not tell where they differ.
bool areEqualCodes(const std::string &a, const std::string &b);

} // namespace divisi

#endif // DIVISI_SUPPORT_USERKEY_H
