//===- CompilerApi.cpp - The C API of the compiler ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include <climits>
#include <unistd.h>

using namespace divisi;

static divisi_error *cancel(divisi_compilation *compilation) {
  return guarded("", [&] {
    Status status = checkHandle(compilation);
    if (!status.isOk()) {
      return status;
    }
    std::lock_guard lock(compilation->mutex);
    if (compilation->isInCall) {
      compilation->worker.cancel(compilation->number,
                                 ++compilation->cancels > 1);
    }
    return status;
  });
}

static divisi_error *plan(divisi_compilation *compilation) {
  return guarded("", [&] { return ask(compilation, {"plan"}); });
}

static divisi_error *explain(divisi_compilation *compilation,
                             const char *format, const char **text) {
  return guarded(format, [&] {
    std::string_view name = format ? format : "";
    if (name != "text" && name != "json") {
      return makeError(ExitCode::Usage, "format is ",
                       format ? "'" + std::string(name) + "'" : "NULL",
                       ", expected 'text' or 'json'");
    }
    return askText(compilation, text, {"explain", name});
  });
}

static divisi_error *dump(divisi_compilation *compilation, const char *stage,
                          const char **text) {
  return guarded(stage, [&] {
    Status status = checkGiven(stage, "stage");
    return status.isOk() ? askText(compilation, text, {"dump", stage}) : status;
  });
}

/// The compiler's process has the working directory of when it was started.
static Expected<std::string> wholePath(const char *path) {
  std::string text = path;
  if (text.starts_with('/')) {
    return text;
  }
  char folder[PATH_MAX];
  if (!getcwd(folder, sizeof(folder))) {
    return makeError(ExitCode::File, "cannot tell the working directory: ",
                     std::strerror(errno));
  }
  return folder + ("/" + text);
}

static divisi_error *compile(divisi_compilation *compilation,
                             const char *path) {
  return guarded(path, [&] {
    Status status = checkGiven(path, "path");
    if (!status.isOk()) {
      return status;
    }
    if (!*path || isDescriptor(path)) {
      return makeError(ExitCode::Usage, "path '", path,
                       "' names no file; an artifact is written to one");
    }
    Expected<std::string> whole = wholePath(path);
    return whole ? ask(compilation, {"compile", *whole}) : whole.status();
  });
}

static divisi_error *setSplit(divisi_compilation *compilation,
                              const char *operators, const char *split,
                              double *nanoseconds) {
  return guarded(operators, [&] {
    Status status = checkGiven(operators, "operators");
    status = status.isOk() ? checkGiven(split, "split") : status;
    if (status.isOk() && !*operators) {
      return makeError(ExitCode::Usage, "operators is empty; '*' are all");
    }
    if (status.isOk()) {
      status = ask(compilation, {"set_split", operators, split});
    }
    if (status.isOk() && nanoseconds) {
      *nanoseconds = numberIn(compilation->answer[3]);
    }
    return status;
  });
}

static divisi_error *layouts(divisi_compilation *compilation,
                             const char *operators, const char **text) {
  return guarded(operators, [&] {
    return askText(compilation, text, {"layouts", operators ? operators : ""});
  });
}

const divisi_compiler_api *divisi_compiler_get_api(uint32_t version) {
  static const divisi_compiler_api api = {sizeof(divisi_compiler_api),
                                          DIVISI_COMPILER_VERSION,
                                          errorApi(),
                                          create,
                                          freeCompilation,
                                          cancel,
                                          plan,
                                          explain,
                                          dump,
                                          compile,
                                          setSplit,
                                          layouts};
  return isServed(version, DIVISI_COMPILER_VERSION) ? &api : nullptr;
}
