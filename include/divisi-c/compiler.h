//===- compiler.h - Planning and compiling models from C --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   const divisi_compiler_api *api =
//       divisi_compiler_get_api(DIVISI_COMPILER_VERSION);
//   const char *arguments[] = {"--devices=4", "--memory-limit=2GiB"};
//   divisi_compilation_options options = {sizeof options};
//   options.model_path = "gpt2.onnx";
//   options.arguments = arguments;
//   options.num_arguments = 2;
//   divisi_compilation *compilation;
//   divisi_error *error = api->create(&options, &compilation);
//   error = api->plan(compilation);
//   error = api->compile(compilation, "gpt2.divisi");
//
// The compiler works in a process of its own, which `create` starts and
// `free` ends: a defect of it, or memory that runs out, is an error here,
// and LLVM is not in the caller's process. Compilations are independent; one
// is for one thread at a time, but for `cancel`.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_COMPILER_H
#define DIVISI_INCLUDE_DIVISI_C_COMPILER_H

#include "divisi-c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this header.
#define DIVISI_COMPILER_VERSION DIVISI_API_VERSION(1, 1)

/// A model on its way to an artifact.
typedef struct divisi_compilation divisi_compilation;

/// How far a call is.
typedef struct divisi_progress_info {
  size_t struct_size; ///< Set by the library.
  const char *phase;  ///< "import", "plan", …; "" when the call is over.
  /// While a plan is searched: the predicted time of the best one so far, and a
  /// time that none is below, in nanoseconds; else less than 0.
  double best_ns;
  double bound_ns; ///< See best_ns.
} divisi_progress_info;

/// Told how far a call is, by the thread that is in it.
typedef void (*divisi_progress)(void *user, const divisi_progress_info *info);

/// What is compiled, and how.
typedef struct divisi_compilation_options {
  size_t struct_size; ///< Set by the caller.
  /// An ONNX model, or a dump of the compiler; or NULL, and the next two.
  const char *model_path;
  const void *model_bytes; ///< The content of one; read by `create`.
  size_t model_size;       ///< How many bytes.
  /// Options of `divisi compile`, each one argument: "--devices=4". They are
  /// those of the command line, with its defaults, checks and messages, except
  /// those that name outputs (-o, --dump-after, --dump-to).
  const char *const *arguments;
  size_t num_arguments; ///< How many.
  /// Told of the progress of calls; may be NULL.
  divisi_progress progress;
  void *progress_user; ///< Handed to `progress`.
  /// Told of notes and warnings; may be NULL.
  divisi_log log;
  void *log_user; ///< Handed to `log`.
  /// The program divisi-compiler; NULL: that beside the library.
  const char *compiler;
} divisi_compilation_options;

/// The functions. Texts that they return live until the next call on the
/// compilation.
typedef struct divisi_compiler_api {
  size_t struct_size;      ///< Of the library that has made it.
  uint32_t version;        ///< Of that library.
  divisi_error_api errors; ///< How errors are read.

  /// Starts the compiler and imports the model. DIVISI_FILE, DIVISI_INVALID,
  /// DIVISI_UNSUPPORTED, DIVISI_USAGE; DIVISI_DEVICE if no process can be
  /// started, DIVISI_INTERNAL if it ends unexpectedly, here and below.
  divisi_error *(*create)(const divisi_compilation_options *options,
                          divisi_compilation **compilation);
  /// Ends it and its process; NULL is nothing.
  void (*free)(divisi_compilation *compilation);
  /// Ends what is in progress, from any thread. A search for a plan keeps the
  /// best one so far, and the call succeeds; without a plan, when it is called
  /// again, and in other calls, they fail with DIVISI_CANCELLED.
  divisi_error *(*cancel)(divisi_compilation *compilation);

  /// Finds a plan. DIVISI_INFEASIBLE, DIVISI_NO_PLAN. Once there is one,
  /// nothing is done.
  divisi_error *(*plan)(divisi_compilation *compilation);
  /// What the plan does, as `divisi explain` says it, in `format`: "text" or
  /// "json". Finds a plan first, as all below do.
  divisi_error *(*explain)(divisi_compilation *compilation, const char *format,
                           const char **text);
  /// The module after the stage of that name ("import", "train", "rewrite",
  /// "plan", "partition", "schedule", "lower") as text. A stage that has not
  /// been reached is.
  divisi_error *(*dump)(divisi_compilation *compilation, const char *stage,
                        const char **text);
  /// Writes the artifact to `path`.
  divisi_error *(*compile)(divisi_compilation *compilation, const char *path);

  // Of version 1.1.

  /// Gives operators of the plan another strategy. `operators` is the name of a
  /// node, of a scope, or of a kind of operator ("nn.matmul"); * and ? stand
  /// for any characters. `split` is a strategy as plans have it: "m@x, n@y",
  /// with or without its grid before it ("@g: m@x"); "" is no split at all.
  /// Operators of the name that lack one of its loops stay as they are.
  /// What the plan takes now is put in `nanoseconds`, which may be NULL.
  /// DIVISI_USAGE for names of nothing, and for a plan on several grids;
  /// DIVISI_INVALID for a strategy that an operator cannot have. The plan is
  /// then as it was.
  divisi_error *(*set_split)(divisi_compilation *compilation,
                             const char *operators, const char *split,
                             double *nanoseconds);
  /// The strategies of operators of that name, and the layouts that follow from
  /// them, with all tensors at rest, as JSON; NULL: of all. Its form stands in
  /// docs/python.md.
  divisi_error *(*layouts)(divisi_compilation *compilation,
                           const char *operators, const char **text);
} divisi_compiler_api;

/// The functions, for a caller that was compiled with `version`; NULL if the
/// library is of another major version or of an older minor one.
DIVISI_EXPORT const divisi_compiler_api *
divisi_compiler_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif // DIVISI_INCLUDE_DIVISI_C_COMPILER_H
