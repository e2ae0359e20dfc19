//===- Thread.h - Threads that may not start --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The system may have no thread to spare, or no memory for its stack. Where
// std::thread would end the program, this one says so.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_THREAD_H
#define DIVISI_SUPPORT_THREAD_H

#include "divisi/Support/Status.h"

#include <functional>
#include <pthread.h>
#include <string>

namespace divisi {

/// A thread, or none. Who is destroyed waits for its end.
class Thread {
public:
  Thread() = default;
  Thread(Thread &&other) noexcept { *this = std::move(other); }
  Thread &operator=(Thread &&other) noexcept;
  ~Thread();

  /// Begins `work` in a thread. Fails with Device, and says what it was for, by
  /// `purpose`: "device 3".
  static Expected<Thread> start(const std::string &purpose,
                                std::function<void()> work);

  /// Whether it may still be at work, and nobody has waited for it.
  bool isJoinable() const { return isJoinable_; }
  /// Waits for its end; only if it is joinable.
  void join();
  /// From now on nobody does.
  void detach();

private:
  bool isJoinable_ = false;
  pthread_t handle_{};
};

} // namespace divisi

#endif // DIVISI_SUPPORT_THREAD_H
