//===- Sha256.h - The hash of sections --------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_SHA256_H
#define DIVISI_SUPPORT_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace divisi {

/// SHA-256 (FIPS 180-4), fed in parts.
class Sha256 {
public:
  /// By the processor's instructions for it where it has them, unless
  /// `isPortable`.
  explicit Sha256(bool isPortable = false);

  /// Appends `bytes` to what is hashed.
  void update(std::span<const std::byte> bytes);
  /// The 32 bytes of the hash; the object is used up.
  std::string finish();

  /// The hash of `bytes`.
  static std::string of(std::span<const std::byte> bytes);
  /// The same of a text.
  static std::string of(const std::string &bytes);

private:
  void compress(std::span<const std::byte> blocks);

  bool isPortable_;

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                    0xa54ff53a, 0x510e527f, 0x9b05688c,
                                    0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_;
  uint64_t length_ = 0; ///< Bytes so far.
};

/// `bytes` as lower-case hexadecimal digits, two a byte.
std::string toHex(const std::string &bytes);

} // namespace divisi

#endif // DIVISI_SUPPORT_SHA256_H
