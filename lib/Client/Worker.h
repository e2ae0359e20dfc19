//===- Worker.h - The compiler in a process of its own ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CLIENT_WORKER_H
#define DIVISI_LIB_CLIENT_WORKER_H

#include "divisi/C/Channel.h"
#include "divisi/Support/Status.h"

#include <functional>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace divisi {

/// A descriptor that is closed in the end; movable.
class Descriptor {
public:
  Descriptor() = default;
  /// That one; -1 is none.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  /// -1: none.
  int number() const { return number_; }
  /// Moves it to a number that no standard file has, nor the channel; whether
  /// there was one.
  bool moveUp();

private:
  int number_ = -1;
};

/// What a compilation begins with.
struct WorkerStart {
  std::string program;                ///< The file of divisi-compiler.
  std::vector<std::string> arguments; ///< Of the verb serve, the model last.
  std::span<const std::byte> input;   ///< Its standard input.
};

/// The process of one compilation. Functions are for one thread at a time, but
/// for cancel().
class Worker {
public:
  Worker() = default;
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  /// Starts it. Fails with File if the program cannot be executed, with Device
  /// if there is no process, memory or descriptor for it.
  Status start(const WorkerStart &start);

  /// Sends a request of that number, with its arguments.
  Status request(uint64_t number,
                 std::initializer_list<std::string_view> texts);
  /// Waits for the next message. Fails if the process has ended, and says how,
  /// or if none comes for `seconds`, if that is not negative.
  Expected<Frame> receive(double seconds = -1);
  /// Asks it to end request `number`; the second time, ends the process.
  void cancel(uint64_t number, bool isSecond);
  /// Ends the process, and waits for that.
  void end();

private:
  Expected<pid_t> spawn(const WorkerStart &start, int channel, int errors,
                        int input);
  void drainErrors();
  Status ended();
  bool isChild();
  void kill();
  bool waitFor(double seconds);
  std::string lastWords() const;

  std::string program_;
  Descriptor channel_, errors_;
  Inbox inbox_{kMostAnswerBytes};
  std::string printed_; ///< The last of what it has printed.

  std::mutex mutex_; ///< Of what follows.
  pid_t process_ = -1;
  pid_t owner_ = -1;    ///< Whose child it is; not that of one that forks.
  bool isOver_ = false; ///< Nobody has to wait for it.
  int outcome_ = -1;    ///< Of waitpid; -1: the host has not let us know.
};

} // namespace divisi

#endif // DIVISI_LIB_CLIENT_WORKER_H
