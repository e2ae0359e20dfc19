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
// they came in, mapped into memory. It opens no file itself: who reads the name
// of one knows where it may lead, and gives the store what is there. What has
// no file (folded constants, tensors that a model held in text-like fields, a
// model that came through a pipe, the constants within a dump) it holds itself.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_GLOBALSTORE_H
#define DIVISI_SUPPORT_GLOBALSTORE_H

#include "divisi/Support/MappedFile.h"
#include "divisi/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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

/// What tells the content of a file from any other.
struct FileIdentity {
  int64_t bytes = 0;  ///< Its size.
  std::string sha256; ///< As 64 hexadecimal digits.
  friend bool operator==(const FileIdentity &, const FileIdentity &) = default;
};

/// `660454 bytes with the SHA-256 c6a1…`.
std::string identityText(const FileIdentity &identity);

/// Resolves ByteRanges. Not thread-safe.
class GlobalStore {
public:
  /// The name in a ByteRange of what addBlob was given.
  static constexpr std::string_view kBlobFile = "<blob>";

  /// Makes `file` stand for `mapping` from now on. Where expect() says what it
  /// has to be, it is compared when bytes of it are first asked for.
  void addFile(const std::string &file, MappedFile mapping);

  /// Makes `file` stand for `bytes`, which `owner` keeps alive: it lies in
  /// memory alone, whatever its name.
  void addBytes(const std::string &file, std::span<const std::byte> bytes,
                std::shared_ptr<const void> owner);
  /// The bytes of `file` if they lie in memory alone; nothing for another.
  std::optional<std::span<const std::byte>>
  bytesInMemory(std::string_view file) const;

  /// Says that `file` is named but not there: the program can be planned, and
  /// only asking for bytes fails (ExitCode::File).
  void addAbsent(const std::string &file);
  /// The same of a file that is not to be had because of `why`.
  void addRefused(const std::string &file, Status why);
  /// Whether one of these said so of `file`.
  bool isAbsent(const std::string &file) const;

  /// Says what `file` has to be. Who asks for its bytes gets ExitCode::Invalid
  /// if it is another; the first time costs a hash of all of it.
  void expect(const std::string &file, FileIdentity identity);
  /// Whether every file of which that is known, and which is there, has the
  /// size that it has to have. ExitCode::Invalid.
  Status checkSizes() const;
  /// Whether `file` is there: what bytes() would say if it is not.
  Status find(const std::string &file) const;
  /// What expect() said of `file`, or what it is: hashed when first asked for.
  /// Nothing for a file that is not there or cannot be read.
  std::optional<FileIdentity> identify(const std::string &file);

  /// Appends `bytes` to the blob at an offset aligned to 64 and returns where.
  ByteRange addBlob(std::span<const std::byte> bytes);

  /// The bytes at `range`, valid until the next addBlob or as long as the
  /// store. Fails as the file was refused, with ExitCode::File if it was never
  /// given, with ExitCode::Invalid if the range does not lie inside it or it is
  /// another than expected.
  Expected<std::span<const std::byte>> bytes(const ByteRange &range);

private:
  struct File {
    std::optional<MappedFile> mapping;    ///< None: it is not to be had.
    Status why;                           ///< Then the reason.
    std::optional<FileIdentity> identity; ///< Expected, or found.
    bool isCompared = false;              ///< Whether `mapping` is that.
  };
  struct Memory {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  static Status compare(const std::string &name, File &file);
  Expected<std::span<const std::byte>> contentOf(const std::string &name);

  std::map<std::string, File, std::less<>> files_;
  std::map<std::string, Memory, std::less<>> memory_;
  std::vector<std::byte> blob_;
};

} // namespace divisi

#endif // DIVISI_SUPPORT_GLOBALSTORE_H
