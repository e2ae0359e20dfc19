//===- UserKey.cpp - A secret of the user who runs us ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/UserKey.h"
#include "divisi/Support/Sha256.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace divisi;

static constexpr size_t keyBytes = 32;

std::string divisi::userKeyPath() {
  const char *data = std::getenv("XDG_DATA_HOME");
  const char *home = std::getenv("HOME");
  if (data && data[0] == '/') {
    return std::string(data) + "/divisi/native.key";
  }
  return home && home[0] == '/'
             ? std::string(home) + "/.local/share/divisi/native.key"
             : std::string();
}

template <typename... Parts>
static Status failure(ExitCode code, const Parts &...parts) {
  return makeError(code, "the key for native code, '", userKeyPath(), "', ",
                   parts...);
}

Expected<std::string> divisi::readUserKey() {
  int file = open(userKeyPath().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) {
    return failure(ExitCode::File, "cannot be read: ", std::strerror(errno));
  }
  struct stat facts = {};
  std::string key(keyBytes + 1, '\0');
  bool isKnown = fstat(file, &facts) == 0;
  ssize_t bytes = read(file, key.data(), key.size());
  close(file);
  if (!isKnown || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
      (facts.st_mode & 077) != 0) {
    return failure(ExitCode::Invalid, "is not a file of this user's alone; "
                                      "expected mode 0600");
  }
  if (bytes != static_cast<ssize_t>(keyBytes)) {
    return failure(ExitCode::Invalid, "does not have ", keyBytes, " bytes");
  }
  key.resize(keyBytes);
  return key;
}

/// Writes a new key under a name of its own, and gives it the right one if
/// nobody has it.
static Status writeUserKey() {
  std::string path = userKeyPath();
  std::string key(keyBytes, '\0');
  std::error_code ignored; // opening tells
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      ignored);
  std::string temporary = path + "." + std::to_string(getpid());
  int file =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool isWritten =
      file >= 0 && fchmod(file, 0600) == 0 &&
      getrandom(key.data(), key.size(), 0) == ssize_t(keyBytes) &&
      write(file, key.data(), key.size()) == ssize_t(keyBytes) &&
      (link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
  int reason = errno;
  if (file >= 0) {
    close(file);
    unlink(temporary.c_str());
  }
  return isWritten ? Status()
                   : failure(ExitCode::File,
                             "cannot be made: ", std::strerror(reason));
}

Expected<std::string> divisi::makeUserKey() {
  if (access(userKeyPath().c_str(), F_OK) != 0) {
    if (Status status = writeUserKey(); !status.isOk()) {
      return status;
    }
  }
  return readUserKey();
}

std::string divisi::hmacSha256(const std::string &key,
                               const std::string &text) {
  constexpr size_t block = 64;
  std::string padded = key.size() > block ? Sha256::of(key) : key;
  padded.resize(block, '\0');
  auto mask = [&](char with) {
    std::string masked = padded;
    for (char &byte : masked) {
      byte = static_cast<char>(byte ^ with);
    }
    return masked;
  };
  return Sha256::of(mask(0x5c) + Sha256::of(mask(0x36) + text));
}

bool divisi::areEqualCodes(const std::string &a, const std::string &b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}
