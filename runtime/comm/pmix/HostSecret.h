//===- HostSecret.h - How hosts of a run know each other --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hosts of a run have a key in common. None is sent: each shows that it has the
// key by codes (HMAC-SHA256) of what both have made up a moment ago.
//
//   host 1                                   first host
//   number, nonce                     -->
//                                     <--    its nonce, its proofs
//   its proofs                        -->
//
// Both then have two new keys, one for each direction, and each text has a code
// of its place and its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PMIX_HOSTSECRET_H
#define DIVISI_RUNTIME_COMM_PMIX_HOSTSECRET_H

#include "runtime/comm/pmix/HostMessages.h"

#include <string>
#include <string_view>

namespace divisi::rt {

/// The two ends of a connection between hosts.
enum class HostEnd { First, Other };

/// What a proof shows of who has made it.
enum class Proof {
  Same,     ///< The key and the artifact of this process.
  Artifact, ///< The key, and another artifact.
  None      ///< Another key, or none.
};

/// The bytes of a code.
inline constexpr size_t codeBytes = 32;
/// The bytes of what proves: a code by the key, and one with the artifact.
inline constexpr size_t proofBytes = 2 * codeBytes;

/// The codes of the texts that go one way.
class TextCodes {
public:
  TextCodes() = default;
  /// By a key that nobody else has.
  explicit TextCodes(std::string key) : key_(std::move(key)) {}

  /// Whether texts have codes.
  bool isOn() const { return !key_.empty(); }
  /// How long they are.
  size_t size() const { return isOn() ? codeBytes : 0; }
  /// That of the next text; empty if texts have none.
  std::string next(std::string_view text);

private:
  std::string key_;
  uint64_t count_ = 0; ///< Texts so far.
};

/// See the file's head.
class HostSecret {
public:
  /// Of runs of `artifact`, its hash, by those who have `key`.
  HostSecret(std::string key, const std::string &artifact);

  /// With the key of the environment's DIVISI_HOSTS_KEY, which launchers hand
  /// on, or else of this user's file hosts.key, which is made if there is none.
  /// Fails with Usage for a variable that is too short, else as SecretFile.
  static Expected<HostSecret> find(const std::string &artifact);

  /// What `end` says to show what it has, in answer to `greeting` and `nonce`,
  /// that of the first host: proofBytes bytes.
  std::string prove(HostEnd end, const Greeting &greeting,
                    std::string_view nonce) const;
  /// What `proof` shows that `end` has said.
  Proof check(HostEnd end, const Greeting &greeting, std::string_view nonce,
              std::string_view proof) const;
  /// The codes of what `end` says afterwards.
  TextCodes codesOf(HostEnd end, const Greeting &greeting,
                    std::string_view nonce) const;

private:
  std::string key_;         ///< Of all runs by those who have the key.
  std::string artifactKey_; ///< Of those of the artifact.
};

/// nonceBytes bytes by the system; none if it has no randomness.
std::string makeNonce();

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_HOSTSECRET_H
