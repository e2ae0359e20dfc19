//===- MemoryFile.cpp - Bytes of a caller as a file -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/C/MemoryFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace divisi;

/// Whether all could be written.
static bool writeAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes = bytes.subspan(size_t(std::max<ssize_t>(written, 0)));
  }
  return lseek(file, 0, SEEK_SET) == 0;
}

Expected<int> divisi::makeMemoryFile(std::span<const std::byte> bytes) {
  int file = memfd_create("divisi", MFD_CLOEXEC);
  if (file >= 0 && writeAll(file, bytes)) {
    return file;
  }
  int error = errno;
  if (file >= 0) {
    close(file);
  }
  return makeError(ExitCode::Device, "no file in memory of ", bytes.size(),
                   " bytes: ", std::strerror(error));
}
