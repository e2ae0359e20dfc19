//===- ThisProcess.cpp - The program that runs, its errors ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/ThisProcess.h"
#include "divisi/Support/ThisModule.h"
#include "divisi/runtime/launch/Launcher.h"

#include <cerrno>
#include <csignal>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <mutex>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

std::string divisi::rt::sharedObject(const std::string &name) {
  std::filesystem::path folder =
      std::filesystem::path(thisModule()).parent_path();
  return (folder / ".." / "lib" / name).lexically_normal().string();
}

/// What is longer goes in parts.
static constexpr size_t maxLine = size_t(1) << 20;

/// Copies lines, each with one write, until nobody writes any more.
[[noreturn]] static void copyLines(int from, int to,
                                   const std::string &prefix) {
  std::string line = prefix;
  auto flush = [&] {
    (void)!write(to, line.data(), line.size());
    line = prefix;
  };
  char buffer[4096];
  ssize_t count;
  while ((count = read(from, buffer, sizeof(buffer))) > 0 ||
         (count < 0 && errno == EINTR)) {
    for (ssize_t i = 0; i < count; ++i) {
      line += buffer[i];
      if (buffer[i] == '\n' || line.size() == maxLine) {
        flush();
      }
    }
  }
  if (line.size() > prefix.size()) {
    line += '\n';
    flush();
  }
  _exit(0);
}

// A process of its own, which what ends this one does not end.
void divisi::rt::prefixErrors(const std::string &prefix) {
  int lines[2];
  if (pipe(lines) != 0) {
    return; // lines without a prefix say the same
  }
  pid_t child = fork();
  if (child == 0) {
    int to = dup(STDERR_FILENO);
    close(lines[1]);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    copyLines(lines[0], to, prefix);
  }
  if (child > 0) {
    dup2(lines[1], STDERR_FILENO);
  }
  close(lines[0]);
  close(lines[1]);
}

Watchdog::Watchdog(std::chrono::milliseconds limit, std::string message,
                   const std::function<int(const Status &)> &fail) {
  auto watch = [this, limit, message = std::move(message), fail] {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, limit, [this] { return isOver_; })) {
      // No destructor may wait for what does not end.
      _exit(fail(Status(ExitCode::Device, message)));
    }
  };
  auto started = Thread::start("time-outs", watch);
  status_ = started.status();
  thread_ = started ? std::move(*started) : Thread();
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    isOver_ = true;
  }
  wake_.notify_one();
}
