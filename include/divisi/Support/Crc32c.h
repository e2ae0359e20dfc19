//===- Crc32c.h - The checksum of chunks ------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_CRC32C_H
#define DIVISI_SUPPORT_CRC32C_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace divisi {

/// The CRC-32C (Castagnoli) of every `chunkBytes` of `bytes`, in order; the
/// last chunk may be shorter. By the processor's instruction where it has one,
/// for several chunks at a time, unless `isPortable`.
std::vector<uint32_t> crc32cOfChunks(std::span<const std::byte> bytes,
                                     size_t chunkBytes,
                                     bool isPortable = false);

} // namespace divisi

#endif // DIVISI_SUPPORT_CRC32C_H
