//===- ArtifactFormat.h - The bytes before the manifest ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_ARTIFACTFORMAT_H
#define DIVISI_RUNTIME_ARTIFACT_ARTIFACTFORMAT_H

#include <cstdint>
#include <cstring>
#include <string>

namespace divisi::rt {

/// How every artifact begins. Little-endian, without padding.
struct ArtifactHeader {
  char magic[8];                  ///< artifactMagic
  uint32_t version;               ///< Of the format.
  uint32_t manifestBytes;         ///< Of the manifest, which follows.
  unsigned char manifestHash[32]; ///< SHA-256.
  /// Who vouches for native code: a public key (Signature.h), and its signature
  /// of what codedText() returns; zeros if there is none, or nobody does.
  unsigned char signer[32];
  unsigned char signature[64];
};
static_assert(sizeof(ArtifactHeader) == 144);

/// What a user vouches for: the manifest, with the hashes of all codes in it,
/// since programs say what codes are called with.
inline std::string codedText(const std::string &manifestHash) {
  return "divisi-native-code-2\n" + manifestHash;
}

/// The first bytes of every artifact.
inline constexpr char artifactMagic[8] = {'D', 'I', 'V',  'I',
                                          'S', 'I', '\0', '\n'};
/// Sections begin at multiples of this, so that they can be mapped.
inline constexpr int64_t sectionAlignment = 4096;
/// Each so many bytes of a global have a checksum: few enough to look at no
/// more than a rank reads, many enough for the sums to be small beside them.
inline constexpr int64_t checkedChunkBytes = 65536;
/// A manifest says what is done, not with which data: past this it is not one.
inline constexpr uint32_t maxManifestBytes = 256u << 20;

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_ARTIFACTFORMAT_H
