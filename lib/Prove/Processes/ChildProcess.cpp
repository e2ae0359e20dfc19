//===- ChildProcess.cpp - A forked worker ---------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Processes/ChildProcess.h"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace divisi::rewrite;

bool divisi::rewrite::writeAll(int descriptor, const std::string &text) {
  for (size_t at = 0; at != text.size();) {
    ssize_t count = write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    at += size_t(count);
  }
  return true;
}

ChildProcess::ChildProcess(const std::function<bool(int)> &work) {
  int ends[2];
  if (::pipe(ends) != 0) {
    return;
  }
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    _exit(work(ends[1]) ? 0 : 1);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

ChildProcess::~ChildProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    wait();
  }
  if (pipe_ >= 0) {
    close(pipe_);
  }
}

bool ChildProcess::read(std::string &text) const {
  char buffer[4096];
  ssize_t count;
  do {
    count = ::read(pipe_, buffer, sizeof(buffer));
  } while (count < 0 && errno == EINTR);
  text.append(buffer, count > 0 ? size_t(count) : 0);
  return count > 0;
}

bool ChildProcess::wait() {
  int state = 0;
  while (process_ > 0 && waitpid(process_, &state, 0) < 0 && errno == EINTR) {
  }
  bool isWell = process_ > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0;
  process_ = -1;
  return isWell;
}
