//===- StateCopy.h - The state of a session, kept ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TRAINING_STATECOPY_H
#define DIVISI_RUNTIME_TRAINING_STATECOPY_H

#include "divisi/runtime/core/Session.h"

#include <vector>

namespace divisi::rt {

/// A copy of what a session has of the globals that entries update, in memory.
class StateCopy {
public:
  /// Of `session`, which outlives it.
  explicit StateCopy(Session &session);

  /// Invalid, naming the first global that is not finite at present; fails as
  /// Session::readState does. A pass over what the session has of the state.
  Status checkFinite() const;
  /// Copies the present values. Fails as Session::readState does.
  Status take();
  /// Gives the session the values that take() has copied last.
  Status restore();

private:
  Session &session_;
  std::vector<StateBox> boxes_;
  std::vector<AlignedBytes> copies_; ///< Empty of what no local rank has.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TRAINING_STATECOPY_H
