//===- Thread.cpp - Threads that may not start ----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Thread.h"

#include <cstring>
#include <memory>

using namespace divisi;

Thread &Thread::operator=(Thread &&other) noexcept {
  if (this != &other) {
    if (isJoinable_) {
      join();
    }
    isJoinable_ = std::exchange(other.isJoinable_, false);
    handle_ = other.handle_;
  }
  return *this;
}

Thread::~Thread() {
  if (isJoinable_) {
    join();
  }
}

Expected<Thread> Thread::start(const std::string &purpose,
                               std::function<void()> work) {
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  Thread thread;
  int error = pthread_create(
      &thread.handle_, nullptr,
      [](void *argument) -> void * {
        std::unique_ptr<std::function<void()>> work(
            static_cast<std::function<void()> *>(argument));
        (*work)();
        return nullptr;
      },
      owned.get());
  if (error != 0) {
    return makeError(ExitCode::Device, "cannot start a thread for ", purpose,
                     ": ", std::strerror(error),
                     "; allow more threads (ulimit -u) or memory (ulimit -v), "
                     "or ask for fewer devices and threads");
  }
  owned.release();
  thread.isJoinable_ = true;
  return thread;
}

void Thread::join() {
  isJoinable_ = false;
  pthread_join(handle_, nullptr);
}

void Thread::detach() {
  isJoinable_ = false;
  pthread_detach(handle_);
}
