//===- AbortState.h - Whether a communicator goes on ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_ABORTSTATE_H
#define DIVISI_RUNTIME_COMM_ABORTSTATE_H

#include "divisi/Support/Status.h"

#include <atomic>
#include <mutex>

namespace divisi::rt {

/// What all steps of a communicator share: whether they go on at all.
class AbortState {
public:
  /// Whether there is a reason to end all steps.
  bool isAborted() const { return aborted_.load(std::memory_order_acquire); }
  /// The first that was set; success if there is none.
  Status reason() const;
  /// Returns false if there is a reason already.
  bool set(const Status &reason);
  /// Forgets the reason: steps go on again.
  void clear();

private:
  mutable std::mutex mutex_;
  std::atomic<bool> aborted_ = false;
  Status reason_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_ABORTSTATE_H
