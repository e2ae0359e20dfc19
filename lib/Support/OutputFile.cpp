//===- OutputFile.cpp - Files that are never half written -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/OutputFile.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <libdeflate.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace divisi {

static Status cannotWrite(const std::string &path) {
  return {ExitCode::File,
          "cannot write '" + path + "': " + std::strerror(errno)};
}

/// Nothing if memory is short.
static std::optional<std::string> compress(std::string_view text) {
  constexpr int level = 6;
  std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)>
      compressor(libdeflate_alloc_compressor(level),
                 libdeflate_free_compressor);
  if (!compressor) {
    return std::nullopt;
  }
  std::string gzip;
  gzip.resize(libdeflate_gzip_compress_bound(compressor.get(), text.size()));
  gzip.resize(libdeflate_gzip_compress(compressor.get(), text.data(),
                                       text.size(), gzip.data(), gzip.size()));
  return gzip;
}

static bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(size_t(written < 0 ? 0 : written));
  }
  return true;
}

using Make = std::function<void(const Put &)>;

/// Writes, and waits for the disk if there is one to wait for. Closes `file`.
static bool writeAndClose(int file, const Make &make, bool synchronise) {
  bool good = true;
  int error = 0;
  make([&](std::string_view piece) {
    if (good && !writeAll(file, piece)) {
      good = false;
      error = errno;
    }
  });
  if (good && synchronise && fsync(file) != 0) {
    good = false;
    error = errno;
  }
  bool closed = close(file) == 0;
  errno = good ? errno : error;
  return good && closed;
}

/// A rename is on the disk once its folder is; where folders cannot be synced
/// it is so anyway.
static void syncFolder(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder =
      slash == path.npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
  int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file >= 0) {
    fsync(file);
    close(file);
  }
}

static bool replace(const std::string &path, const Make &make) {
  std::string partial = path + ".partial." + std::to_string(getpid());
  int file =
      open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    return false;
  }
  if (writeAndClose(file, make, true) &&
      rename(partial.c_str(), path.c_str()) == 0) {
    syncFolder(path);
    return true;
  }
  int error = errno;
  unlink(partial.c_str());
  errno = error;
  return false;
}

static Status writeBytes(const std::string &path, const Make &make) {
  struct stat about{};
  bool exists = stat(path.c_str(), &about) == 0;
  if (exists && !S_ISREG(about.st_mode)) {
    int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return file >= 0 && writeAndClose(file, make, false) ? Status()
                                                         : cannotWrite(path);
  }
  // A link keeps pointing to what it pointed to.
  char target[PATH_MAX];
  bool resolved = exists && realpath(path.c_str(), target);
  return replace(resolved ? target : path, make) ? Status() : cannotWrite(path);
}

/// The same as gzip, whole.
static std::optional<std::string> compressed(const Make &make) {
  std::string text;
  make([&](std::string_view piece) { text += piece; });
  return compress(text);
}

Status writeFile(const std::string &path, const Make &make) {
  if (path.ends_with(".gz")) {
    std::optional<std::string> gzip = compressed(make);
    if (!gzip) {
      errno = ENOMEM;
      return cannotWrite(path);
    }
    return writeBytes(path, [&](const Put &put) { put(*gzip); });
  }
  return writeBytes(path, make);
}

} // namespace divisi
