//===- OutputFile.h - Files that are never half written ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every file that Divisi writes is written here:
//
//   Expected<OutputFile> file = OutputFile::create(path);
//   if (!file)
//     return file.status();
//   if (Status status = file->write(bytes); !status.isOk())
//     return status;
//   return file->commit();
//
// The bytes go to a new file in the folder of the old one, which takes its name
// once all of them are on the disk: so `path` holds the old content or the new
// at every moment, even if the process is killed. If the file system has files
// without a name, the new one has none until then, and nothing is left behind
// either.
//
// A symbolic link keeps its target: that file is replaced, unless somebody else
// has put the link into a folder where everybody may, as /tmp. Standard output
// (`-`, or a descriptor by its name, as /dev/stdout), a device, a pipe and a
// terminal are never replaced; they are written to as they are.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_OUTPUTFILE_H
#define DIVISI_SUPPORT_OUTPUTFILE_H

#include "divisi/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace divisi {

/// A file that is being written; movable. Without commit() the old content
/// stays and nothing else remains. All functions fail with File.
class OutputFile {
public:
  OutputFile(OutputFile &&other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        offset_(other.offset_), path_(std::move(other.path_)),
        target_(std::move(other.target_)),
        temporary_(std::move(other.temporary_)) {}
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  /// Begins to write `path`; a file that is there keeps its permissions.
  static Expected<OutputFile> create(const std::string &path);

  /// Appends `bytes`.
  Status write(std::span<const std::byte> bytes);
  /// The same of a text.
  Status write(std::string_view bytes);
  /// Appends zeros until `offset` bytes have been written; not fewer than now.
  Status padTo(int64_t offset);
  /// How many bytes have been written.
  int64_t offset() const { return offset_; }

  /// Flushes to the disk and gives the file its name. Nothing can be written
  /// after it.
  Status commit();

private:
  OutputFile() = default;
  static int openInPlace(const std::string &path);
  Status openNew();
  Status openNamed();
  Status giveName();
  Status replaceTarget();
  void discard();

  int descriptor_ = -1;
  int64_t offset_ = 0;
  std::string path_;      ///< As the caller says it, for messages.
  std::string target_;    ///< What is replaced; empty: written to as it is.
  std::string temporary_; ///< Beside the target; empty while it has no name.
};

/// Whether `path` is written to as it is, so that nothing can lie beside it.
bool isWrittenInPlace(const std::string &path);

/// Whether `path` is standard output: `-`, or its descriptor by a name.
bool isStdout(const std::string &path);

/// Where `path` leads when it is a symbolic link, or a chain of them: what is
/// replaced, which need not be there.
std::string linkTarget(const std::string &path);

/// Takes the next piece of a text.
using Put = std::function<void(std::string_view)>;

/// Makes what `make` puts, piece by piece, the content of the file `path`, as
/// gzip if that ends in .gz. Fails with File.
Status writeFile(const std::string &path,
                 const std::function<void(const Put &)> &make);
/// The same of a text that is there.
Status writeFile(const std::string &path, std::string_view text);

} // namespace divisi

#endif // DIVISI_SUPPORT_OUTPUTFILE_H
