//===- MappedFile.h - Files mapped for reading ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_MAPPEDFILE_H
#define DIVISI_SUPPORT_MAPPEDFILE_H

#include "divisi/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace divisi {

class MappedFile;

/// A regular file that is open for reading; movable, closed with its owner.
/// What read() gives is the reader's own: a mapping shows what other processes
/// write, whatever was checked of it before.
class OpenFile {
public:
  OpenFile(OpenFile &&other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_),
        path_(std::move(other.path_)) {}
  OpenFile &operator=(OpenFile &&) = delete;
  ~OpenFile();

  /// As MappedFile::open.
  static Expected<OpenFile> open(const std::string &path);
  /// As MappedFile::openBeneath.
  static Expected<OpenFile> openBeneath(const std::string &folder,
                                        const std::string &path);

  /// In bytes, when it was opened.
  int64_t size() const { return size_; }
  /// Fills `to` with the bytes from `offset` on. File where they cannot be
  /// read, also because the file has become shorter.
  Status read(int64_t offset, std::span<std::byte> to) const;
  /// All of it, mapped.
  Expected<MappedFile> map() const;

private:
  friend class MappedFile;
  /// Takes `descriptor`; what is read is what was checked: size and kind come
  /// from it, never from the path again.
  static Expected<OpenFile> take(int descriptor, const std::string &path);
  static Expected<std::optional<OpenFile>>
  findBeneath(const std::string &folder, const std::string &path);
  OpenFile(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  int64_t size_ = 0;
  std::string path_; ///< For messages.
};

/// A regular file mapped for reading; movable, unmapped with its owner. Who
/// reads beyond the end that another process has given it meanwhile gets
/// SIGBUS.
class MappedFile {
public:
  /// No file, no bytes.
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
  /// directory in between. Fails with Invalid where the path leads out, with
  /// File where the file cannot be read.
  static Expected<MappedFile> openBeneath(const std::string &folder,
                                          const std::string &path);

  /// The same, but nothing where there is no such file.
  static Expected<std::optional<MappedFile>>
  findBeneath(const std::string &folder, const std::string &path);

  /// All of the file. They stay where they are when the object is moved.
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Lets go of the memory of whole pages among `bytes`, which are of a mapped
  /// file: who reads them again has them from the file.
  static void letGo(std::span<const std::byte> bytes);

private:
  friend class OpenFile;
  void swap(MappedFile &other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  const std::byte *data_ = nullptr;
  size_t size_ = 0;
};

/// The folder part of `path`; `.` if it has none.
std::string folderOf(const std::string &path);

} // namespace divisi

#endif // DIVISI_SUPPORT_MAPPEDFILE_H
