//===- ThisProcess.h - The program that runs, its errors --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_LAUNCH_THISPROCESS_H
#define DIVISI_RUNTIME_LAUNCH_THISPROCESS_H

#include "divisi/Support/Thread.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

namespace divisi::rt {

/// Where the shared object `name` for several processes lies: in lib beside the
/// folder of this program, or of our library that it has loaded.
std::string sharedObject(const std::string &name);

/// Writes `prefix` before each line that this process writes to stderr from now
/// on, also if it crashes.
void prefixErrors(const std::string &prefix);

/// While one lives, the process ends after `limit` with ExitCode::Device and a
/// message: for what blocks in another's code, which nothing else can end.
class Watchdog {
public:
  /// Begins to watch. `fail` is called with `message`, and returns the exit
  /// code.
  Watchdog(std::chrono::milliseconds limit, std::string message,
           const std::function<int(const Status &)> &fail);
  ~Watchdog();
  /// Success if it watches: the system may have no thread for it.
  const Status &status() const { return status_; }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool isOver_ = false;
  Status status_;
  Thread thread_; ///< Last: it uses all of the above.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_LAUNCH_THISPROCESS_H
