//===- Calls.h - A call is a request to the compiler ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exceptions are on in this room for one reason: a host whose memory has run
// out gets an error.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CLIENT_CALLS_H
#define DIVISI_LIB_CLIENT_CALLS_H

#include "Worker.h"
#include "divisi-c/compiler.h"
#include "divisi/C/Errors.h"
#include "divisi/C/Handle.h"

#include <initializer_list>
#include <mutex>
#include <string_view>

/// See compiler.h.
struct divisi_compilation : divisi::Handle {
  static constexpr uint32_t kind = 0x434f4d50; ///< Tells handles apart.
  divisi_compilation() : Handle(kind) {}       ///< Nothing is started.

  /// As they were given.
  divisi_progress progress = nullptr;
  void *progressUser = nullptr;
  divisi_log log = nullptr;
  void *logUser = nullptr;
  divisi::Worker worker; ///< Does the work.
  divisi::Frame answer;  ///< Whose text the caller reads.
  bool hasPhase = false; ///< A phase was told, and not its end.

  std::mutex mutex;      ///< Of what follows.
  bool isInCall = false; ///< A thread is.
  uint64_t number = 0;   ///< Of the call.
  int cancels = 0;       ///< In this call.
  divisi::Status dead;   ///< What all calls fail with, once the process ended.
};

namespace divisi {

/// What `call` returns, and an error object for what it throws.
/// The call may still change what `place` points to.
template <typename Call>
divisi_error *guarded(const char *const &place, Call call) noexcept {
  try {
    Status status = call();
    return makeErrorObject(status, place ? place : "");
  } catch (...) {
    return outOfMemoryError();
  }
}

/// The number that `text` is; -1 if it is none.
double numberIn(std::string_view text);

/// Usage for a handle that is null, or that was freed.
Status checkHandle(const divisi_compilation *compilation);

/// Whether `path` is a descriptor by a name: it would mean one of the
/// compiler's process.
bool isDescriptor(std::string_view path);

/// Hands on what the compiler tells until it answers, and keeps that; the
/// status is the answer's.
Status finish(divisi_compilation &of);

/// One request, from the call to its answer.
Status ask(divisi_compilation *of,
           std::initializer_list<std::string_view> request);

/// The same for one whose answer is a text.
Status askText(divisi_compilation *of, const char **text,
               std::initializer_list<std::string_view> request);

/// Functions of the table: create and free.
divisi_error *create(const divisi_compilation_options *given,
                     divisi_compilation **compilation);
/// See create.
void freeCompilation(divisi_compilation *compilation);

} // namespace divisi

#endif // DIVISI_LIB_CLIENT_CALLS_H
