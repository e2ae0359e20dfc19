//===- ChildProcess.h - A forked worker -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PROVE_PROCESSES_CHILDPROCESS_H
#define DIVISI_LIB_PROVE_PROCESSES_CHILDPROCESS_H

#include <functional>
#include <string>
#include <sys/types.h>

namespace divisi::rewrite {

/// Writes all of it; false if nobody reads.
bool writeAll(int descriptor, const std::string &text);

/// A process that begins as a copy of this one, which has no other threads, and
/// the pipe from it. It is killed with this.
class ChildProcess {
public:
  /// Has `work` done there, which writes to the descriptor that it gets and
  /// says whether all went well. Where there can be no process, it is one that
  /// has ended.
  explicit ChildProcess(const std::function<bool(int)> &work);
  ChildProcess(const ChildProcess &) = delete;
  ChildProcess &operator=(const ChildProcess &) = delete;
  ~ChildProcess();

  /// Where to read; negative if there is no process.
  int pipe() const { return pipe_; }
  /// Adds to `text` what there is to read, and waits if that is nothing yet;
  /// false at the end of it.
  bool read(std::string &text) const;
  /// Waits for the end of the process; whether all went well.
  bool wait();

private:
  pid_t process_ = -1;
  int pipe_ = -1;
};

} // namespace divisi::rewrite

#endif // DIVISI_LIB_PROVE_PROCESSES_CHILDPROCESS_H
