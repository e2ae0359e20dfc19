//===- SecretFile.cpp - A secret in a file of the user --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/SecretFile.h"

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

std::string SecretFile::path() const {
  const char *data = std::getenv("XDG_DATA_HOME");
  const char *home = std::getenv("HOME");
  if (data && data[0] == '/') {
    return std::string(data) + "/divisi/" + name;
  }
  return home && home[0] == '/'
             ? std::string(home) + "/.local/share/divisi/" + name
             : std::string();
}

template <typename... Parts>
static Status failure(const SecretFile &secret, ExitCode code,
                      const Parts &...parts) {
  return makeError(code, "the key for ", secret.purpose, ", '", secret.path(),
                   "', ", parts...);
}

Expected<std::string> SecretFile::read() const {
  // Nobody waits for who may write to a pipe.
  int file =
      open(path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    return failure(*this, ExitCode::File,
                   "cannot be read: ", std::strerror(errno));
  }
  struct stat facts = {};
  std::string key(keyBytes + 1, '\0');
  bool isKnown = fstat(file, &facts) == 0;
  ssize_t bytes = ::read(file, key.data(), key.size());
  close(file);
  if (!isKnown || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid() ||
      (facts.st_mode & 077) != 0) {
    return failure(*this, ExitCode::Invalid,
                   "is not a file of this user's alone; "
                   "expected mode 0600");
  }
  if (bytes != static_cast<ssize_t>(keyBytes)) {
    return failure(*this, ExitCode::Invalid, "does not have ", keyBytes,
                   " bytes");
  }
  key.resize(keyBytes);
  return key;
}

/// Writes a new key under a name of its own, and gives it the right one if
/// nobody has it.
static Status create(const SecretFile &secret) {
  std::string path = secret.path();
  std::string key(keyBytes, '\0');
  std::error_code ignored; // opening tells
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      ignored);
  std::string temporary = path + ".XXXXXX"; // on several hosts, perhaps
  int file = mkostemp(temporary.data(), O_CLOEXEC);
  bool isWritten =
      file >= 0 && fchmod(file, 0600) == 0 &&
      getrandom(key.data(), key.size(), 0) == ssize_t(keyBytes) &&
      ::write(file, key.data(), key.size()) == ssize_t(keyBytes) &&
      (link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
  int reason = errno;
  if (file >= 0) {
    close(file);
    unlink(temporary.c_str());
  }
  return isWritten ? Status()
                   : failure(secret, ExitCode::File,
                             "cannot be made: ", std::strerror(reason));
}

Expected<std::string> SecretFile::make() const {
  if (access(path().c_str(), F_OK) != 0) {
    if (Status status = create(*this); !status.isOk()) {
      return status;
    }
  }
  return read();
}
