//===- File.cpp - Files mapped, checked and replaced whole ----------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/File.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

static Status fileError(const char *what, const std::string &path) {
  return makeError(ExitCode::File, "cannot ", what, " '", path,
                   "': ", std::strerror(errno));
}

std::string divisi::rt::folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

MappedFile::~MappedFile() {
  if (data_) {
    munmap(const_cast<std::byte *>(data_), size_);
  }
}

/// Maps the open file and closes `descriptor`. What is mapped is what was
/// checked: size and kind come from the descriptor, never from the path again.
Expected<MappedFile> MappedFile::map(int descriptor, const std::string &path) {
  MappedFile file;
  struct stat info;
  Status status;
  if (fstat(descriptor, &info) != 0) {
    status = fileError("read", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = makeError(ExitCode::File, "'", path, "' is not a regular file");
  } else if (info.st_size > 0) {
    void *data =
        mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      status = fileError("map", path);
    } else {
      file.data_ = static_cast<const std::byte *>(data);
      file.size_ = info.st_size;
    }
  }
  close(descriptor);
  if (!status.isOk()) {
    return status;
  }
  return file;
}

Expected<MappedFile> MappedFile::open(const std::string &path) {
  // Not blocking: a named pipe is refused, not waited for.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return fileError("open", path);
  }
  return map(descriptor, path);
}

/// Whether `path` is relative and has no component `..`.
static bool staysBelow(std::string_view path) {
  if (path.empty() || path.front() == '/') {
    return false;
  }
  while (!path.empty()) {
    size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") {
      return false;
    }
    path.remove_prefix(slash == std::string_view::npos ? path.size()
                                                       : slash + 1);
  }
  return true;
}

/// For kernels without openat2: component by component, following no symbolic
/// link at all.
static int openWithoutLinks(int folder, std::string_view path) {
  int current = dup(folder);
  while (current >= 0 && !path.empty()) {
    size_t slash = path.find('/');
    bool isLast = slash == std::string_view::npos;
    std::string name(path.substr(0, slash));
    path.remove_prefix(isLast ? path.size() : slash + 1);
    if (name.empty() && !isLast) {
      continue;
    }
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                (isLast ? 0 : O_DIRECTORY);
    int next = openat(current, name.c_str(), flags);
    int error = errno;
    close(current);
    errno = error;
    current = next;
  }
  return current;
}

Expected<MappedFile> MappedFile::openBeneath(const std::string &folder,
                                             const std::string &path) {
  if (!staysBelow(path) || path.find('\0') != std::string::npos) {
    return makeError(ExitCode::Invalid, "the path '", path,
                     "' leaves the folder '", folder,
                     "'; data files must lie beneath it");
  }
  int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    return fileError("open", folder);
  }
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int descriptor = static_cast<int>(
      syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how)));
  if (descriptor < 0 && (errno == ENOSYS || errno == EPERM)) {
    descriptor = openWithoutLinks(directory, path);
  }
  int error = errno;
  close(directory);
  errno = error;
  if (descriptor < 0) {
    if (error == EXDEV || error == ELOOP) {
      return makeError(ExitCode::Invalid, "the path '", path,
                       "' leaves the folder '", folder,
                       "' through a symbolic link; data files must lie "
                       "beneath it");
    }
    return fileError("open", folder + "/" + path);
  }
  return map(descriptor, folder + "/" + path);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

NewFile::~NewFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
    unlink(temporary_.c_str());
  }
}

Expected<NewFile> NewFile::create(const std::string &path) {
  NewFile file;
  file.path_ = path;
  file.temporary_ = path + ".XXXXXX";
  file.descriptor_ = mkostemp(file.temporary_.data(), O_CLOEXEC);
  if (file.descriptor_ < 0) {
    return fileError("write", path);
  }
  // mkostemp makes private files; an output has the usual permissions.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(file.descriptor_, 0666 & ~mask);
  return file;
}

Status NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    size_t chunk = std::min<size_t>(bytes.size(), 1 << 30);
    ssize_t written = ::write(descriptor_, bytes.data(), chunk);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return fileError("write", path_);
    }
    bytes = bytes.subspan(written);
    offset_ += written;
  }
  return {};
}

Status NewFile::write(const std::string &bytes) {
  return write(std::as_bytes(std::span<const char>(bytes)));
}

Status NewFile::padTo(int64_t offset) {
  return write(std::string(offset - offset_, '\0'));
}

Status NewFile::commit() {
  Status status;
  if (fsync(descriptor_) != 0 ||
      rename(temporary_.c_str(), path_.c_str()) != 0) {
    status = fileError("write", path_);
    unlink(temporary_.c_str());
  }
  close(descriptor_);
  descriptor_ = -1;
  return status;
}
