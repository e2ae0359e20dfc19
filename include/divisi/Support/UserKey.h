//===- UserKey.h - The user's secret key ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the user, or a process that may write the user's files anyway, has the
// key. So native code of an artifact signed with it (HMAC-SHA256) is trusted
// like a program of the user's.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_USERKEY_H
#define DIVISI_SUPPORT_USERKEY_H

#include "divisi/Support/Status.h"

#include <string>

namespace divisi {

/// Of the file of the key: see SecretFile.
std::string userKeyPath();

/// What is in it. Fails as SecretFile::read does.
Expected<std::string> readUserKey();

/// The same; one is made if there is none.
Expected<std::string> makeUserKey();

/// HMAC-SHA256 (RFC 2104) of `text`; 32 bytes.
std::string hmacSha256(const std::string &key, const std::string &text);

/// Whether two codes are equal, in a time that does not tell where they differ.
bool areEqualCodes(const std::string &a, const std::string &b);

} // namespace divisi

#endif // DIVISI_SUPPORT_USERKEY_H
