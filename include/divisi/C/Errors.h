//===- Errors.h - Errors and structures of the C APIs -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What both libraries with a C API do alike: they turn a Status into an error
// object, and read the structures of callers that know fewer or more fields.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_C_ERRORS_H
#define DIVISI_C_ERRORS_H

#include "divisi-c/base.h"
#include "divisi/Support/Status.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace divisi {

/// The code of what its caller has ended.
inline constexpr ExitCode kCancelled{DIVISI_CANCELLED};

/// The error object of `status`, about `place`; null for success. Where memory
/// has run out it is one that says so, and that nobody has to free.
divisi_error *makeErrorObject(const Status &status, const char *place = "");

/// That one.
divisi_error *outOfMemoryError();

/// How errors are read.
divisi_error_api errorApi();

/// Whether a library of version `own` serves a caller of `version`: of the same
/// major one, and not newer.
inline bool isServed(uint32_t version, uint32_t own) {
  return version >> 16 == own >> 16 && version <= own;
}

/// Usage for a size that no structure of `T` has, in any version. `what` names
/// it.
template <typename T> Status checkStructSize(size_t size, const char *what) {
  constexpr size_t limit = size_t(1) << 16;
  return size < sizeof(size_t) || size % alignof(T) != 0 || size > limit
             ? makeError(ExitCode::Usage, what, ": struct_size is ", size,
                         "; set it to sizeof(", what, ")")
             : Status();
}

/// Copies what a caller has given, whose structure may be shorter or longer
/// than ours, to `to`, which has the defaults; null leaves these. Fails with
/// Usage if the size is not one, with Version if fields that this library does
/// not know are set. `what` names the structure.
template <typename T>
Status readStruct(const T *given, T &to, const char *what) {
  if (!given) {
    return {};
  }
  size_t size = given->struct_size;
  if (Status status = checkStructSize<T>(size, what); !status.isOk()) {
    return status;
  }
  const auto *bytes = reinterpret_cast<const unsigned char *>(given);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      return makeError(ExitCode::Version, what, ": a field at byte ", i,
                       " is set that this version "
                       "of the library does not know; update the library");
    }
  }
  std::memcpy(&to, given, std::min(size, sizeof(T)));
  return {};
}

/// Copies `from` to a caller's structure, as much as that has room for; its
/// size stays. Fails with Usage as readStruct does.
template <typename T> Status writeStruct(T from, T *to, const char *what) {
  if (!to) {
    return makeError(ExitCode::Usage, what, ": expected a structure, got NULL");
  }
  from.struct_size = to->struct_size;
  Status status = checkStructSize<T>(from.struct_size, what);
  if (status.isOk()) {
    std::memcpy(to, &from, std::min(from.struct_size, sizeof(T)));
  }
  return status;
}

/// Usage for an argument called `what` that is null.
inline Status checkGiven(const void *argument, const char *what) {
  return argument ? Status() : makeError(ExitCode::Usage, what, " is NULL");
}

/// The same for where a function puts what it makes, which is null until then.
template <typename T> Status clearResult(T **result, const char *what) {
  if (result) {
    *result = nullptr;
  }
  return checkGiven(result, what);
}

} // namespace divisi

#endif // DIVISI_C_ERRORS_H
