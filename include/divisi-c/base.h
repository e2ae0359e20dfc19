//===- base.h - What both C APIs share --------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two libraries have a C API: libdivisi_runtime (runtime.h) loads and runs
// artifacts, libdivisi_compiler (compiler.h) makes them. Each exports one
// function, which returns a table of functions. These rules hold for both:
//
// - Structures begin with their size, so that a caller and a library of
//   different versions understand each other: set `struct_size` to sizeof,
//   all else that is not wanted to 0. Within a major version fields and
//   functions are added at the end, never removed or changed.
// - A function that can fail returns an error, or NULL. Who gets an error
//   frees it. What it was to return is then NULL, or as it was before.
// - Nothing throws, exits, aborts, installs a signal handler, changes the
//   environment or prints.
// - Strings are UTF-8 and end with 0.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_BASE_H
#define DIVISI_INCLUDE_DIVISI_C_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Marks what a library exports.
#define DIVISI_EXPORT __attribute__((visibility("default")))

/// A version of an API: the major one in the high 16 bits.
#define DIVISI_API_VERSION(major, minor)                                       \
  (((uint32_t)(major) << 16) | (uint32_t)(minor))

/// What kind of error it is: the exit codes of the command line.
typedef enum divisi_code {
  DIVISI_OK = 0,          ///< No error.
  DIVISI_INTERNAL = 1,    ///< A defect of Divisi.
  DIVISI_USAGE = 2,       ///< Arguments wrong, or contradicting each other.
  DIVISI_FILE = 3,        ///< A file cannot be read or written.
  DIVISI_INVALID = 4,     ///< Invalid content: model, artifact, tensors.
  DIVISI_UNSUPPORTED = 5, ///< An operator or type that Divisi does not do.
  DIVISI_INFEASIBLE = 6,  ///< No plan fits; the message says what binds.
  DIVISI_NO_PLAN = 7,     ///< No plan was found in time.
  DIVISI_DIFFERS = 8,     ///< Results differ.
  DIVISI_DEVICE = 9,      ///< A device, memory or transport failed.
  DIVISI_VERSION = 10,    ///< Another version of the API or of the format.
  DIVISI_CANCELLED = 130  ///< The caller has ended it.
} divisi_code;

/// An error. It does not depend on what it was returned for.
typedef struct divisi_error divisi_error;

/// How important a message of a call-back is.
typedef enum divisi_severity {
  DIVISI_NOTE = 0,   ///< Of interest.
  DIVISI_WARNING = 1 ///< Something that the caller may not want.
} divisi_severity;

/// Told of a message, by the thread that is in a call of the API.
typedef void (*divisi_log)(void *user, divisi_severity severity,
                           const char *message);

/// How an error is read; the first part of both tables.
typedef struct divisi_error_api {
  /// The size of this structure.
  size_t struct_size;
  /// DIVISI_OK of NULL.
  divisi_code (*code)(const divisi_error *error);
  /// What is wrong and what to do, without a period; "" of NULL. It lives as
  /// long as the error, as does what the next returns.
  const char *(*message)(const divisi_error *error);
  /// What the call was about: a file, an entry, a tensor; "" if nothing.
  const char *(*place)(const divisi_error *error);
  /// Frees it; NULL is nothing.
  void (*free)(divisi_error *error);
} divisi_error_api;

#ifdef __cplusplus
}
#endif

#endif // DIVISI_INCLUDE_DIVISI_C_BASE_H
