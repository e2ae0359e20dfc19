//===- GlobalStore.h - Where the bytes of globals lie -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// IR never holds the bytes of a weight, only their place:
//
//   nn.global @w parameter : tensor<512x64xf32> from "gpt2.onnx" [1024, 131072]
//
// A GlobalStore turns such a place into bytes. Weights stay in the files that
// they came in, mapped into memory; what the compiler itself has computed
// (folded constants, tensors that a file held in text-like fields) lies in one
// blob of the store's own, addressed as the file kBlobFile until a dump of the
// IR writes it out beside itself.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_GLOBALSTORE_H
#define DIVISI_SUPPORT_GLOBALSTORE_H

#include "divisi/Support/MappedFile.h"
#include "divisi/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace divisi {

/// Bytes [offset, offset + length) of `file`.
struct ByteRange {
  /// As the store knows it; kBlobFile for its own.
  std::string file;
  /// In bytes from the beginning of the file.
  int64_t offset = 0;
  /// In bytes.
  int64_t length = 0;
  friend bool operator==(const ByteRange &, const ByteRange &) = default;
};

/// Resolves ByteRanges. Not thread-safe.
class GlobalStore {
public:
  /// The name of the store's own blob in a ByteRange.
  static constexpr std::string_view kBlobFile = "<blob>";

  /// Relative file names are looked up in `folder` (that of a dump).
  explicit GlobalStore(std::string folder = "");

  /// Makes `file` stand for `mapping` from now on.
  void addFile(const std::string &file, MappedFile mapping);

  /// Says that `file` is named but not there: the program can be planned, and
  /// only asking for bytes fails (ExitCode::File).
  void addAbsent(const std::string &file) { files_[file].reset(); }
  /// Whether addAbsent said so of `file`.
  bool isAbsent(const std::string &file) const {
    auto it = files_.find(file);
    return it != files_.end() && !it->second;
  }

  /// Appends `bytes` to the blob at an offset aligned to 64 and returns where.
  ByteRange addBlob(std::span<const std::byte> bytes);

  /// The bytes at `range`, valid until the next addBlob or as long as the
  /// store. Opens a file that is not known yet. ExitCode::File if it cannot be
  /// read, ExitCode::Invalid if the range does not lie inside it.
  Expected<std::span<const std::byte>> bytes(const ByteRange &range);

  /// All of the blob, to be written beside a dump.
  std::span<const std::byte> blob() const { return blob_; }

private:
  std::string folder_;
  std::map<std::string, std::optional<MappedFile>> files_; ///< None: absent.
  std::vector<std::byte> blob_;
};

} // namespace divisi

#endif // DIVISI_SUPPORT_GLOBALSTORE_H
