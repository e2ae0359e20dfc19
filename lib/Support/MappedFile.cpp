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

static Status cannotRead(const std::string &path, const char *why,
                         ExitCode code = ExitCode::File) {
  return makeError(code, "cannot read '", path, "': ", why);
}

/// By the reason `error` of the system, which may be that there is no memory.
static Status cannotRead(const std::string &path, int error) {
  return cannotRead(path, std::strerror(error),
                    error == ENOMEM ? ExitCode::Device : ExitCode::File);
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

//===----------------------------------------------------------------------===//
// Open files
//===----------------------------------------------------------------------===//

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

Expected<OpenFile> OpenFile::take(int descriptor, const std::string &path) {
  if (descriptor < 0) {
    return cannotRead(path, errno);
  }
  OpenFile file(descriptor, path);
  struct stat info;
  if (fstat(descriptor, &info) != 0) {
    return cannotRead(path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return cannotRead(path, "it is not a regular file");
  }
  file.size_ = info.st_size;
  return file;
}

Expected<OpenFile> OpenFile::open(const std::string &path) {
  // Not blocking: a named pipe is refused, not waited for.
  return take(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), path);
}

Status OpenFile::read(int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    ssize_t got = pread(descriptor_, to.data(), to.size(), offset);
    if (got < 0 && errno != EINTR) {
      return cannotRead(path_, errno);
    }
    if (got == 0) {
      return cannotRead(path_, "it was made shorter while it was read");
    }
    offset += std::max<ssize_t>(got, 0);
    to = to.subspan(size_t(std::max<ssize_t>(got, 0)));
  }
  return {};
}

Expected<MappedFile> OpenFile::map() const {
  MappedFile file;
  if (size_ > 0) {
    void *data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (data == MAP_FAILED) {
      return cannotRead(path_, errno);
    }
    file.data_ = static_cast<const std::byte *>(data);
    file.size_ = size_;
  }
  return file;
}

Expected<MappedFile> MappedFile::open(const std::string &path) {
  Expected<OpenFile> file = OpenFile::open(path);
  return file ? file->map() : file.status();
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

Expected<std::optional<OpenFile>>
OpenFile::findBeneath(const std::string &folder, const std::string &path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return makeError(ExitCode::Invalid, "'", path.c_str(),
                     "' is not a file name");
  }
  errno = EXDEV;
  int descriptor = climbsOut(path) ? -1 : openDescriptorBeneath(folder, path);
  if (descriptor < 0 && errno == ENOENT) {
    return std::optional<OpenFile>();
  }
  if (descriptor < 0 && (errno == EXDEV || errno == ELOOP)) {
    return makeError(ExitCode::Invalid, "the path '", path,
                     "' leaves the folder '", folder,
                     "', which must contain all data files; copy the file "
                     "there and name it relative to the folder");
  }
  Expected<OpenFile> file = take(descriptor, folder + "/" + path);
  if (!file) {
    return file.status();
  }
  return std::optional<OpenFile>(std::move(*file));
}

Expected<OpenFile> OpenFile::openBeneath(const std::string &folder,
                                         const std::string &path) {
  Expected<std::optional<OpenFile>> found = findBeneath(folder, path);
  if (!found) {
    return found.status();
  }
  if (!*found) {
    return cannotRead(folder + "/" + path, ENOENT);
  }
  return std::move(**found);
}

Expected<std::optional<MappedFile>>
MappedFile::findBeneath(const std::string &folder, const std::string &path) {
  Expected<std::optional<OpenFile>> found = OpenFile::findBeneath(folder, path);
  if (!found || !*found) {
    return found ? Expected(std::optional<MappedFile>()) : found.status();
  }
  Expected<MappedFile> file = (*found)->map();
  if (!file) {
    return file.status();
  }
  return std::optional(std::move(*file));
}

Expected<MappedFile> MappedFile::openBeneath(const std::string &folder,
                                             const std::string &path) {
  Expected<OpenFile> file = OpenFile::openBeneath(folder, path);
  return file ? file->map() : file.status();
}
