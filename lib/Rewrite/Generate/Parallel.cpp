//===- Parallel.cpp - Work in processes of its own ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Rewrite/Generate/Parallel.h"

#include <cerrno>
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

using namespace divisi::rewrite;

namespace {

/// A process, and the file without a name in which it leaves what it returns.
struct Process {
  size_t number;
  pid_t id;
  std::FILE *file;
};

} // namespace

static std::optional<Process>
start(size_t number, const std::function<std::string(size_t)> &work) {
  std::FILE *file = std::tmpfile();
  if (!file) {
    return std::nullopt;
  }
  pid_t id = fork();
  if (id == 0) {
    std::string text = work(number);
    bool isWritten =
        std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
        std::fflush(file) == 0;
    _exit(isWritten ? 0 : 1);
  }
  if (id < 0) {
    std::fclose(file);
    return std::nullopt;
  }
  return Process{number, id, file};
}

/// Waits until the process ends.
static std::optional<std::string> finish(const Process &process) {
  int state = 0;
  while (waitpid(process.id, &state, 0) < 0 && errno == EINTR) {
  }
  std::string text;
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) {
    std::rewind(process.file);
    char buffer[4096];
    for (size_t count;
         (count = std::fread(buffer, 1, sizeof(buffer), process.file)) != 0;) {
      text.append(buffer, count);
    }
  }
  std::fclose(process.file);
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

/// Waits until one of them has ended, which is left for finish().
static size_t findEnded(const std::vector<Process> &running) {
  siginfo_t ended{};
  while (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  for (size_t i = 0; i != running.size(); ++i) {
    if (running[i].id == ended.si_pid) {
      return i;
    }
  }
  return 0;
}

std::vector<std::optional<std::string>> divisi::rewrite::runInProcesses(
    size_t count, size_t most, const std::function<std::string(size_t)> &work) {
  std::vector<std::optional<std::string>> results(count);
  std::vector<Process> running;
  for (size_t next = 0; next != count || !running.empty();) {
    if (next != count && running.size() < most) {
      if (auto process = start(next++, work)) {
        running.push_back(*process);
      }
      continue;
    }
    size_t at = findEnded(running);
    results[running[at].number] = finish(running[at]);
    running.erase(running.begin() + long(at));
  }
  return results;
}
