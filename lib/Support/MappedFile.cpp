//===- MappedFile.cpp - Files mapped for reading --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

using namespace divisi;

static Status cannotRead(const std::string &path, const char *why) {
  return makeError(ExitCode::File, "cannot read '", path, "': ", why);
}

std::string divisi::folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

MappedFile::~MappedFile() {
  if (data_) {
    munmap(const_cast<std::byte *>(data_), size_);
  }
}

void MappedFile::letGo(std::span<const std::byte> bytes) {
  static const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  uintptr_t end = (begin + bytes.size()) / page * page;
  begin = (begin + page - 1) / page * page;
  if (begin < end) {
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
  }
}

/// Maps the open file and closes `descriptor`. What is mapped is what was
/// checked: size and kind come from the descriptor, never from the path again.
Expected<MappedFile> MappedFile::map(int descriptor, const std::string &path) {
  MappedFile file;
  struct stat info;
  Status status;
  if (fstat(descriptor, &info) != 0) {
    status = cannotRead(path, std::strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    status = cannotRead(path, "it is not a regular file");
  } else if (info.st_size > 0) {
    void *data =
        mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      status = cannotRead(path, std::strerror(errno));
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
    return cannotRead(path, std::strerror(errno));
  }
  return map(descriptor, path);
}

/// Calls `visit` with each component of `path`, empty ones and `.` left out.
template <typename Visit>
static void forEachComponent(std::string_view path, Visit visit) {
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view name = path.substr(0, slash);
    path.remove_prefix(slash == path.npos ? path.size() : slash + 1);
    if (!name.empty() && name != ".") {
      visit(name);
    }
  }
}

/// Whether the text of `path` alone leads out of any folder, be its parts there
/// or not.
static bool climbsOut(std::string_view path) {
  int64_t depth = 0, lowest = 0;
  forEachComponent(path, [&](std::string_view name) {
    depth += name == ".." ? -1 : 1;
    lowest = std::min(lowest, depth);
  });
  return path.starts_with('/') || lowest < 0;
}

/// For kernels without openat2: component by component, following no symbolic
/// link and no `..`, which can lead out when somebody moves a folder meanwhile.
static int openWithoutLinks(int folder, std::string_view path) {
  std::vector<std::string> names;
  forEachComponent(path,
                   [&](std::string_view name) { names.emplace_back(name); });
  int current = dup(folder);
  for (size_t i = 0; current >= 0 && i < names.size(); ++i) {
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                (i + 1 == names.size() ? 0 : O_DIRECTORY);
    errno = EXDEV;
    int next = names[i] == ".." ? -1 : openat(current, names[i].c_str(), flags);
    int error = errno;
    close(current);
    errno = error;
    current = next;
  }
  return current;
}

/// The descriptor of the file, or -1 and errno: EXDEV if the path leads out.
static int openDescriptorBeneath(const std::string &folder,
                                 const std::string &path) {
  int directory = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    return -1;
  }
  // Lexical checks of names failed three times in ONNX's history: the kernel
  // alone knows where a name leads.
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
  return descriptor;
}

Expected<std::optional<MappedFile>>
MappedFile::findBeneath(const std::string &folder, const std::string &path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return makeError(ExitCode::Invalid, "'", path.c_str(),
                     "' is not a file name");
  }
  errno = EXDEV;
  int descriptor = climbsOut(path) ? -1 : openDescriptorBeneath(folder, path);
  if (descriptor < 0 && errno == ENOENT) {
    return std::optional<MappedFile>();
  }
  if (descriptor < 0 && (errno == EXDEV || errno == ELOOP)) {
    return makeError(ExitCode::Invalid, "the path '", path,
                     "' leaves the folder '", folder,
                     "', which must contain all data files; copy the file "
                     "there and name it relative to the folder");
  }
  std::string whole = folder + "/" + path;
  if (descriptor < 0) {
    return cannotRead(whole, std::strerror(errno));
  }
  Expected<MappedFile> file = map(descriptor, whole);
  if (!file) {
    return file.status();
  }
  return std::optional(std::move(*file));
}

Expected<MappedFile> MappedFile::openBeneath(const std::string &folder,
                                             const std::string &path) {
  Expected<std::optional<MappedFile>> found = findBeneath(folder, path);
  if (!found) {
    return found.status();
  }
  if (!*found) {
    return cannotRead(folder + "/" + path, std::strerror(ENOENT));
  }
  return std::move(**found);
}
