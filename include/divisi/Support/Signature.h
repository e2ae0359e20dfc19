//===- Signature.h - Who vouches for native code ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ed25519 (RFC 8032). Only who has the secret key signs; anybody who has the
// public one, which is no secret, can tell that it was them:
//
//   a CI machine    native.key           signs what it compiles
//   a server        'divisi key' of it   runs what that machine has signed
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_SIGNATURE_H
#define DIVISI_SUPPORT_SIGNATURE_H

#include "divisi/Support/Status.h"

#include <string>
#include <vector>

namespace divisi {

/// Of a public key, in bytes.
inline constexpr size_t publicKeyBytes = 32;
/// Of a signature.
inline constexpr size_t signatureBytes = 64;

/// The public key of a secret one, which is 32 bytes (UserKey.h).
std::string publicKeyOf(const std::string &secret);
/// The signature of `text`: always the same.
std::string sign(const std::string &secret, const std::string &text);
/// Whether who has the secret of `publicKey` has signed `text`. Never of a key
/// or signature of another length.
bool isSignature(const std::string &publicKey, const std::string &text,
                 const std::string &signature);

/// `divisi-ed25519 3d40…`: a line of a file of trusted keys.
std::string publicKeyText(const std::string &publicKey);

/// A line of such a file.
struct TrustedKey {
  std::string publicKey; ///< Its bytes.
  std::string name;      ///< What stands behind it; may be empty.
};

/// The keys in `path`, one a line; empty lines and what begins with # say
/// nothing. ExitCode::File where it cannot be read. ExitCode::Invalid for a
/// line that is none, a file that others than its owner may write, or one of
/// another user who is not root.
Expected<std::vector<TrustedKey>> readTrustedKeys(const std::string &path);

/// The file whose keys this user always trusts: `trusted.keys` beside the
/// user's own key; empty where that has no place.
std::string trustedKeysPath();

/// Whose native code this process runs.
struct TrustedCode {
  std::vector<std::string> publicKeys; ///< Their bytes.
  std::string noKey; ///< Why this user has no key; empty: it is among them.
};

/// This user's own key, those that this user always trusts, and those of
/// `file`, which may be empty. Fails as readTrustedKeys does.
Expected<TrustedCode> readTrust(const std::string &file);

} // namespace divisi

#endif // DIVISI_SUPPORT_SIGNATURE_H
