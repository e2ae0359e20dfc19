//===- TemporaryFile.cpp - Files that nobody has named --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/TemporaryFile.h"

#include "divisi/Support/Sha256.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/random.h>
#include <unistd.h>

using namespace divisi;

std::string divisi::temporaryFolder() {
  const char *folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

static Status cannotMake(const char *what, const std::string &place) {
  return makeError(ExitCode::File, "cannot make ", what, " '", place,
                   "': ", std::strerror(errno));
}

UnnamedFile::~UnnamedFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::string UnnamedFile::path() const {
  return "/proc/self/fd/" + std::to_string(descriptor_);
}

Expected<UnnamedFile> UnnamedFile::make() {
  std::string folder = temporaryFolder();
  int descriptor =
      open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    // A file system need not have such files.
    std::string name = folder + "/divisi-XXXXXX";
    descriptor = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) {
      unlink(name.c_str());
    }
  }
  if (descriptor < 0) {
    return cannotMake("a temporary file in", folder);
  }
  UnnamedFile file(descriptor);
  if (access(file.path().c_str(), R_OK | W_OK) != 0) {
    return cannotMake("a temporary file, opened by", file.path());
  }
  return file;
}

Expected<std::string> divisi::temporaryName(const std::string &begin,
                                            const std::string &end) {
  std::string random(8, '\0'), path = temporaryFolder() + "/" + begin;
  if (getrandom(random.data(), random.size(), 0) != ssize_t(random.size())) {
    return cannotMake("a name for", path);
  }
  return path + toHex(random) + end;
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

Expected<TemporaryFolder> TemporaryFolder::make(const std::string &parent,
                                                const std::string &begin) {
  std::string path = parent + "/" + begin + "XXXXXX";
  if (!mkdtemp(path.data())) {
    return cannotMake("the folder", path);
  }
  return TemporaryFolder(std::move(path));
}
