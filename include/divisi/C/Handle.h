//===- Handle.h - Handles that callers may get wrong ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A handle of the C APIs is a pointer to a structure that begins with a Handle.
// It says what kind it is, so that one of another kind is an error and no
// crash, and whether a thread is at work on it. Builds with assertions also
// remember which handles there are: one that was freed is an error there.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_C_HANDLE_H
#define DIVISI_C_HANDLE_H

#include "divisi/Support/Status.h"

#include <atomic>
#include <cstdint>

namespace divisi {

/// See the file's head.
class Handle {
public:
  /// Registers it.
  explicit Handle(uint32_t kind);
  ~Handle();
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;

  /// Usage where `handle`, called `name` in messages, is null, not of `kind`,
  /// or, in a build with assertions, freed.
  static Status check(const Handle *handle, uint32_t kind, const char *name);

private:
  friend class HandleUse;
  uint32_t kind_;
  mutable std::atomic<bool> isUsed_ = false;
};

/// The right of one thread to work on a handle, as long as this object lives.
class HandleUse {
public:
  /// Of a checked handle.
  explicit HandleUse(const Handle &handle)
      : handle_(handle), isMine_(!handle.isUsed_.exchange(true)) {}
  ~HandleUse() {
    if (isMine_) {
      handle_.isUsed_ = false;
    }
  }
  HandleUse(const HandleUse &) = delete;
  HandleUse &operator=(const HandleUse &) = delete;

  /// Usage where another thread works on it.
  Status status(const char *name) const;

private:
  const Handle &handle_;
  bool isMine_;
};

} // namespace divisi

#endif // DIVISI_C_HANDLE_H
