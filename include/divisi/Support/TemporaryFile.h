//===- TemporaryFile.h - Files that nobody has named ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The folder for temporary files is everybody's: somebody can have put a link
// there, under any name that can be guessed, that leads to a file of the
// user's. So names cannot be guessed, and what is made here is this user's.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_TEMPORARYFILE_H
#define DIVISI_SUPPORT_TEMPORARYFILE_H

#include "divisi/Support/Status.h"

#include <string>
#include <utility>

namespace divisi {

/// $TMPDIR, or /tmp.
std::string temporaryFolder();

/// A file without a name, that goes with this object, or with the process,
/// however that ends; movable.
class UnnamedFile {
public:
  UnnamedFile(UnnamedFile &&other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  UnnamedFile &operator=(UnnamedFile &&) = delete;
  ~UnnamedFile();

  /// An empty one, on the disk of temporaryFolder(). Fails with File.
  static Expected<UnnamedFile> make();

  /// What opens it, in this process, as often as wanted. Not of one that was
  /// moved.
  std::string path() const;

private:
  explicit UnnamedFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

/// A path in temporaryFolder() that begins with `begin`, ends with `end`, and
/// that nobody can guess: for an OutputFile that is to stay. Fails with File.
Expected<std::string> temporaryName(const std::string &begin,
                                    const std::string &end);

/// A folder that goes with this object, with all that is there then; movable.
class TemporaryFolder {
public:
  TemporaryFolder(TemporaryFolder &&other) noexcept
      : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder &operator=(TemporaryFolder &&) = delete;
  ~TemporaryFolder();

  /// An empty one in `parent`, whose name begins with `begin`, and is new.
  /// Fails with File.
  static Expected<TemporaryFolder> make(const std::string &parent,
                                        const std::string &begin);

  /// Empty after a move.
  const std::string &path() const { return path_; }

private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

} // namespace divisi

#endif // DIVISI_SUPPORT_TEMPORARYFILE_H
