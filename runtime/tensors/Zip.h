//===- Zip.h - The ZIP archives that NumPy writes ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TENSORS_ZIP_H
#define DIVISI_RUNTIME_TENSORS_ZIP_H

#include "divisi/Support/OutputFile.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <vector>

namespace divisi::rt {

/// One file of an archive, still packed.
struct ZipEntry {
  std::string name;                  ///< Within the archive.
  std::span<const std::byte> packed; ///< In the archive's bytes.
  bool isDeflated = false;           ///< Else stored as it is.
  uint64_t size = 0;                 ///< Unpacked.
  uint32_t crc = 0;                  ///< Of the content, unpacked.
};

/// The entries of the archive `bytes`, in the order of its directory. Reads
/// the directory at the end (also its 64-bit form); every offset and size is
/// checked against the archive, an entry cannot claim more unpacked bytes than
/// its packed ones can hold, and no two entries share any: all together claim
/// no more than the archive can hold.
Expected<std::vector<ZipEntry>> readZip(std::span<const std::byte> bytes);

/// The first `most` bytes of the entry's content, or all if they are fewer;
/// zeros where it is damaged.
Expected<AlignedBytes> unpackHead(const ZipEntry &entry, uint64_t most);

/// The entry's content, where it lies in the archive if it is stored, else in
/// `room`; fails (Invalid) if size or checksum do not match.
Expected<std::span<const std::byte>> unpack(const ZipEntry &entry,
                                            AlignedBytes &room);

/// Writes an archive of stored entries, one after the other.
class ZipWriter {
public:
  /// Appends to `file`, which must outlive it.
  explicit ZipWriter(OutputFile &file) : file_(file) {}
  /// Appends the entry `name` whose content is `head` and then `data`.
  Status add(const std::string &name, const std::string &head,
             std::span<const std::byte> data);
  /// Writes the directory.
  Status finish();

private:
  OutputFile &file_;
  std::string directory_;
  uint64_t count_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TENSORS_ZIP_H
