//===- File.h - Files mapped, checked and replaced whole ------*- C++ -*--===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_CORE_FILE_H
#define RUNTIME_CORE_FILE_H

#include "divisi/Support/Status.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace divisi::rt {

/// A regular file mapped for reading; movable.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  /// Fails (File) if `path` is no regular file or cannot be read.
  static Expected<MappedFile> open(const std::string &path);

  /// Opens `path`, relative to `folder`, where it leads to a file beneath that
  /// folder: no absolute path, no `..` out of it, no symbolic link out of it.
  /// The kernel resolves and checks in one step, so nobody can swap a
  /// directory in between.
  static Expected<MappedFile> openBeneath(const std::string &folder,
                                          const std::string &path);

  std::span<const std::byte> bytes() const { return {data_, size_}; }

private:
  static Expected<MappedFile> map(int descriptor, const std::string &path);
  void swap(MappedFile &other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  const std::byte *data_ = nullptr;
  size_t size_ = 0;
};

/// A file that is written under a temporary name beside its own and takes its
/// own in commit(); without that, nothing remains.
class NewFile {
public:
  NewFile() = default;
  NewFile(NewFile &&other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        path_(std::move(other.path_)), temporary_(std::move(other.temporary_)),
        offset_(other.offset_) {}
  ~NewFile();

  static Expected<NewFile> create(const std::string &path);
  Status write(std::span<const std::byte> bytes);
  Status write(const std::string &bytes);
  /// Writes zeros until the file is `offset` bytes long.
  Status padTo(int64_t offset);
  int64_t offset() const { return offset_; }
  /// Flushes to the disk and renames.
  Status commit();

private:
  int descriptor_ = -1;
  std::string path_, temporary_;
  int64_t offset_ = 0;
};

/// The folder part of `path`; `.` if it has none.
std::string folderOf(const std::string &path);

} // namespace divisi::rt

#endif // RUNTIME_CORE_FILE_H
