//===- TruncatedFiles.cpp - Mapped files that become shorter --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TruncatedFiles.h"

#include "divisi/Support/Status.h"

#include "llvm/Support/Signals.h"

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace divisi;

namespace {

/// Reads the lines of /proc/self/maps by what a handler may call:
///
///   7f12a4000000-7f12a4800000 r--p 00000000 fe:00 1234      /data/m.divisi
class MapReader {
public:
  explicit MapReader(uintptr_t address) : address_(address) {}
  /// The file that is mapped there; null for memory of no file.
  const char *find();

private:
  bool nextLine();
  const char *fileOfLine();

  uintptr_t address_;
  int file_ = -1;
  char line_[PATH_MAX + 256], buffer_[4096];
  ssize_t filled_ = 0, at_ = 0;
};

} // namespace

/// Without its end if it is longer than there is room for.
bool MapReader::nextLine() {
  for (size_t length = 0;;) {
    if (at_ == filled_) {
      filled_ = read(file_, buffer_, sizeof(buffer_));
      at_ = 0;
      if (filled_ <= 0) {
        return false;
      }
    }
    char letter = buffer_[at_++];
    if (letter == '\n') {
      line_[length] = '\0';
      return true;
    }
    if (length + 1 < sizeof(line_)) {
      line_[length++] = letter;
    }
  }
}

static uintptr_t readHex(const char *&text) {
  uintptr_t value = 0;
  for (;; ++text) {
    int digit = *text >= '0' && *text <= '9'   ? *text - '0'
                : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
                                               : -1;
    if (digit < 0) {
      return value;
    }
    value = value * 16 + uintptr_t(digit);
  }
}

const char *MapReader::fileOfLine() {
  const char *text = line_;
  uintptr_t begin = readHex(text);
  text += *text == '-';
  if (address_ < begin || address_ >= readHex(text)) {
    return nullptr;
  }
  char *path = std::strchr(line_, '/');
  for (char *letter = path; letter && *letter; ++letter) {
    // A terminal obeys what such letters begin.
    *letter = static_cast<unsigned char>(*letter) < ' ' || *letter == 0x7f
                  ? '?'
                  : *letter;
  }
  return path;
}

const char *MapReader::find() {
  file_ = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  const char *found = nullptr;
  while (file_ >= 0 && !found && nextLine()) {
    found = fileOfLine();
  }
  if (file_ >= 0) {
    close(file_);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The handler
//===----------------------------------------------------------------------===//

/// A handler has no other way to know.
static struct sigaction actionBefore;
static std::atomic_flag isEnding;

static void say(const char *text) {
  ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
  (void)ignored;
}

extern "C" {
static void onBusError(int signal, siginfo_t *info, void *) {
  MapReader reader(reinterpret_cast<uintptr_t>(info->si_addr));
  const char *path = info->si_code == BUS_ADRERR ? reader.find() : nullptr;
  if (!path) {
    sigaction(signal, &actionBefore, nullptr); // it comes again
    return;
  }
  while (isEnding.test_and_set()) {
    pause(); // another thread ends the process
  }
  say("divisi: error: cannot read '");
  say(path);
  say("': it was made shorter while it was read\n");
  llvm::sys::RunInterruptHandlers();
  _exit(static_cast<int>(ExitCode::File));
}
}

void divisi::reportTruncatedFiles() {
  struct sigaction action{};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, &action, &actionBefore);
}
