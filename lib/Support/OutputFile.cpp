//===- OutputFile.cpp - Files that are never half written -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/OutputFile.h"

#include "divisi/Support/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <libdeflate.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

using namespace divisi;

static Status cannotWrite(const std::string &path) {
  return makeError(ExitCode::File, "cannot write '", path,
                   "': ", std::strerror(errno));
}

//===----------------------------------------------------------------------===//
// What is written to
//===----------------------------------------------------------------------===//

/// As many links as the system follows: more are a circle.
static constexpr int kMostLinks = 40;

/// Calls `visit` with `path`, and with what it leads to, link by link.
template <typename Visit>
static void followLinks(const std::string &path, Visit visit) {
  std::error_code error;
  std::string target = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    visit(target);
    std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) {
      break;
    }
    target = (std::filesystem::path(target).parent_path() / next).string();
  }
}

std::string divisi::linkTarget(const std::string &path) {
  std::string target;
  followLinks(path, [&](const std::string &place) { target = place; });
  return target;
}

/// Whether somebody else has put a link, or a pipe, at `path` in a folder where
/// everybody may: as the kernel refuses to follow one, which we do ourselves.
static bool isPlanted(const std::string &path) {
  struct stat about{}, folder{};
  constexpr mode_t everybodys = S_ISVTX | S_IWOTH;
  return lstat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) &&
         stat(folderOf(path).c_str(), &folder) == 0 &&
         (folder.st_mode & everybodys) == everybodys &&
         about.st_uid != geteuid() && about.st_uid != folder.st_uid;
}

/// The descriptor of this process that `path` names: 1 for `-` and for
/// /dev/stdout, which is a link to /proc/self/fd/1. Opened by its name it would
/// begin at the start of a file that a shell appends to.
static std::optional<int> namedDescriptor(const std::string &path) {
  if (path == "-") {
    return STDOUT_FILENO;
  }
  std::error_code error;
  auto descriptors = std::filesystem::canonical("/proc/self/fd", error);
  std::string link = path;
  // Two links lead from /dev/stdout to the descriptor; the descriptor's own
  // leads on to what is open.
  for (int depth = 0; depth < 3 && !error; ++depth) {
    if (std::filesystem::canonical(folderOf(link), error) == descriptors) {
      std::string name = link.substr(link.rfind('/') + 1);
      const char *end = name.data() + name.size();
      int number = -1;
      auto [stop, failure] = std::from_chars(name.data(), end, number);
      return failure == std::errc() && stop == end ? std::optional(number)
                                                   : std::nullopt;
    }
    std::filesystem::path next = std::filesystem::read_symlink(link, error);
    link = (std::filesystem::path(link).parent_path() / next).string();
  }
  return std::nullopt;
}

/// Whether there is something at `path` that is no regular file.
static bool isSpecial(const std::string &path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
}

bool divisi::isWrittenInPlace(const std::string &path) {
  return namedDescriptor(path) || isSpecial(path);
}

bool divisi::isStdout(const std::string &path) {
  return namedDescriptor(path) == STDOUT_FILENO;
}

/// A rename is on the disk once its folder is; where folders cannot be synced
/// it is so anyway.
static void syncFolder(const std::string &path) {
  int folder = open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);
    close(folder);
  }
}

/// A name beside `path` that is not too long where that of `path` is not.
static std::string temporaryName(const std::string &path, int attempt) {
  return folderOf(path) + "/.divisi." + std::to_string(getpid()) + "." +
         std::to_string(attempt);
}

/// How often a new name is looked for: others may have taken some.
static constexpr int kMostAttempts = 1000;

//===----------------------------------------------------------------------===//
// OutputFile
//===----------------------------------------------------------------------===//

OutputFile::~OutputFile() { discard(); }

/// Closes the file, and removes it if it has not taken its name.
void OutputFile::discard() {
  if (descriptor_ >= 0) {
    close(descriptor_);
    descriptor_ = -1;
    if (!temporary_.empty()) {
      unlink(temporary_.c_str());
    }
  }
}

Expected<OutputFile> OutputFile::create(const std::string &path) {
  OutputFile file;
  file.path_ = path;
  std::string planted;
  followLinks(path, [&](const std::string &place) {
    planted = isPlanted(place) ? place : planted;
  });
  if (!planted.empty()) {
    return makeError(ExitCode::File, "cannot write '", path,
                     "': another user "
                     "has put the link or pipe '",
                     planted,
                     "' into a folder of everybody; name another file");
  }
  if (isWrittenInPlace(path)) {
    file.descriptor_ = openInPlace(path);
    return file.descriptor_ < 0 ? Expected<OutputFile>(cannotWrite(path))
                                : std::move(file);
  }
  struct stat about{};
  bool exists = stat(path.c_str(), &about) == 0;
  if (!exists && errno != ENOENT) {
    return cannotWrite(path);
  }
  file.target_ = linkTarget(path);
  if (Status status = file.openNew(); !status.isOk()) {
    return status;
  }
  if (exists) {
    fchmod(file.descriptor_, about.st_mode & 07777);
  }
  return file;
}

int OutputFile::openInPlace(const std::string &path) {
  std::optional<int> named = namedDescriptor(path);
  return named ? fcntl(*named, F_DUPFD_CLOEXEC, 0)
               : open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

/// Opens the file that will replace the target: without a name where that is
/// possible and one can be given later (which goes through /proc).
Status OutputFile::openNew() {
  descriptor_ =
      open(folderOf(target_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) {
    std::string link = "/proc/self/fd/" + std::to_string(descriptor_);
    if (access(link.c_str(), F_OK) == 0) {
      return {};
    }
    discard();
  }
  return openNamed();
}

Status OutputFile::openNamed() {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    temporary_ = temporaryName(target_, attempt);
    descriptor_ =
        open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) {
      break;
    }
  }
  return descriptor_ >= 0 ? Status() : cannotWrite(path_);
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    size_t chunk = std::min<size_t>(bytes.size(), 1 << 30);
    ssize_t written = ::write(descriptor_, bytes.data(), chunk);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return cannotWrite(path_);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset_ += written;
  }
  return {};
}

Status OutputFile::write(std::string_view bytes) {
  return write(std::as_bytes(std::span<const char>(bytes)));
}

Status OutputFile::padTo(int64_t offset) {
  return write(std::string(static_cast<size_t>(offset - offset_), '\0'));
}

/// Links the file without a name to a temporary one: a link can't replace.
Status OutputFile::giveName() {
  std::string link = "/proc/self/fd/" + std::to_string(descriptor_);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    std::string name = temporaryName(target_, attempt);
    if (linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(),
               AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return {};
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return cannotWrite(path_);
}

/// Brings the bytes to the disk and the new file to the place of the old one.
Status OutputFile::replaceTarget() {
  if (fsync(descriptor_) != 0) {
    return cannotWrite(path_);
  }
  if (temporary_.empty()) {
    if (Status status = giveName(); !status.isOk()) {
      return status;
    }
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) {
    return cannotWrite(path_);
  }
  temporary_.clear();
  syncFolder(target_);
  return {};
}

Status OutputFile::commit() {
  if (!target_.empty()) {
    Status status = replaceTarget();
    discard();
    return status;
  }
  // Some file systems tell only now that there was no room.
  bool closed = close(std::exchange(descriptor_, -1)) == 0;
  return closed ? Status() : cannotWrite(path_);
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

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

/// What `make` puts as gzip, which is made of the whole text.
static Status writeCompressed(OutputFile &file, const std::string &path,
                              const std::function<void(const Put &)> &make) {
  std::string text;
  make([&](std::string_view piece) { text += piece; });
  std::optional<std::string> gzip = compress(text);
  if (!gzip) {
    errno = ENOMEM;
    return cannotWrite(path);
  }
  return file.write(*gzip);
}

Status divisi::writeFile(const std::string &path,
                         const std::function<void(const Put &)> &make) {
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file) {
    return file.status();
  }
  Status status;
  if (path.ends_with(".gz")) {
    status = writeCompressed(*file, path, make);
  } else {
    make([&](std::string_view piece) {
      if (status.isOk()) {
        status = file->write(piece);
      }
    });
  }
  return status.isOk() ? file->commit() : status;
}

Status divisi::writeFile(const std::string &path, std::string_view text) {
  return writeFile(path, [&](const Put &put) { put(text); });
}
