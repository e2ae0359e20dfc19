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

/// $XDG_DATA_HOME/divisi/native.key, by default beneath ~/.local/share; empty
/// if neither is known.
std::string userKeyPath();

/// The 32 bytes of the key. ExitCode::File if there is none; ExitCode::Invalid
/// for a file of another length or owner, or that others can read or write.
Expected<std::string> readUserKey();

/// The same; one is made if there is none, for the user alone (mode 0600). Two
/// who make one at the same time get the same.
Expected<std::string> makeUserKey();

/// HMAC-SHA256 (RFC 2104) of `text`; 32 bytes.
std::string hmacSha256(const std::string &key, const std::string &text);

/// Whether two codes are equal, in a time that does not tell where they differ.
bool areEqualCodes(const std::string &a, const std::string &b);

} // namespace divisi

#endif // DIVISI_SUPPORT_USERKEY_H
