//===- QueueOrder.h - Which instructions have ended -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of a queue run in order, and begin when those that they come
// after have ended. So what has ended when one begins is one number per queue:
//
//   0 call        compute                   before (0, 0)
//   1 all_reduce  communicator, after 0            (1, 0)
//   2 call        compute                          (1, 0)   beside 1
//   3 call        compute, after 1                 (2, 1)
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_ARTIFACT_QUEUEORDER_H
#define DIVISI_RUNTIME_ARTIFACT_QUEUEORDER_H

#include "runtime/artifact/ResolvedManifest.h"

namespace divisi::rt {

/// See the file's head.
class QueueOrder {
public:
  /// How many instructions of each queue have ended.
  using Clock = std::vector<uint32_t>;

  /// Invalid if there is too much of it to be followed.
  Status begin(const artifact::Program &program);

  /// The next instruction of the list.
  int next() const { return static_cast<int>(ended_.size()); }
  /// When that begins.
  Clock clock() const;
  /// Goes on behind it; `before` is what clock() has said.
  void advance(Clock before);
  /// Whether an earlier instruction has ended by `clock`.
  bool hasEnded(int instruction, const Clock &clock) const {
    size_t queue = queueOf_[instruction];
    return ended_[instruction][queue] <= clock[queue];
  }

private:
  const artifact::Program *program_ = nullptr;
  std::vector<uint32_t> queueOf_; ///< Per instruction, those in use counted.
  std::vector<Clock> ended_;      ///< Per instruction, when it has ended.
  std::vector<int> last_;         ///< Per queue, or -1.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_ARTIFACT_QUEUEORDER_H
