//===- AbortState.cpp - Whether a communicator goes on --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/AbortState.h"

using namespace divisi;
using namespace divisi::rt;

Status AbortState::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

bool AbortState::set(const Status &reason) {
  std::lock_guard lock(mutex_);
  if (isAborted()) {
    return false;
  }
  reason_ = reason;
  aborted_.store(true, std::memory_order_release);
  return true;
}

void AbortState::clear() {
  std::lock_guard lock(mutex_);
  reason_ = {};
  aborted_.store(false, std::memory_order_release);
}
