//===- Create.cpp - Starting and ending a compilation ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "divisi/Support/ThisModule.h"
#include "divisi/Support/Version.h"

#include <algorithm>
#include <memory>

using namespace divisi;

/// How long a process may take until it says what it is, in seconds.
static constexpr double kHelloSeconds = 120;
/// Far more than there are options.
static constexpr size_t kMostArguments = 4096;

static Status checkModel(const divisi_compilation_options &options) {
  if (!options.model_path == !options.model_bytes) {
    return Status(ExitCode::Usage,
                  options.model_path
                      ? "model_path and model_bytes are both set"
                      : "model_path and model_bytes are both NULL");
  }
  if (options.model_path && isDescriptor(options.model_path)) {
    return makeError(ExitCode::Usage, "model_path '", options.model_path,
                     "' names no file; give its content as model_bytes");
  }
  return Status();
}

static Status addArguments(const divisi_compilation_options &options,
                           std::vector<std::string> &arguments) {
  if (options.num_arguments > 0 && !options.arguments) {
    return Status(ExitCode::Usage, "arguments is NULL");
  }
  if (options.num_arguments > kMostArguments) {
    return makeError(ExitCode::Usage, "num_arguments is ",
                     options.num_arguments, ", expected at most ",
                     kMostArguments);
  }
  for (size_t i = 0; i != options.num_arguments; ++i) {
    const char *text = options.arguments[i];
    if (!text) {
      return makeError(ExitCode::Usage, "argument ", i, " is NULL");
    }
    std::string_view argument = text;
    size_t dashes = std::min(argument.find_first_not_of('-'), argument.size());
    std::string_view name = argument.substr(dashes);
    if (dashes == 0 || name.empty() || name.starts_with("help")) {
      return makeError(ExitCode::Usage, "argument ", i, " is '", argument,
                       "', expected an option of divisi compile in one text, "
                       "such as --devices=4");
    }
    arguments.emplace_back(argument);
  }
  return Status();
}

/// In the tree of the library, as bin/divisi finds it.
static Expected<std::string> programOf(const char *given) {
  if (given) {
    return std::string(given);
  }
  std::string path = thisModule();
  if (path.empty()) {
    return Status(ExitCode::File, "cannot find the file of libdivisi_compiler; "
                                  "name divisi-compiler in the options "
                                  "(compiler)");
  }
  path.resize(path.rfind('/') + 1);
  return path + "../libexec/divisi-compiler";
}

/// The first message says who speaks.
static Status greet(divisi_compilation &of, const std::string &program) {
  Expected<Frame> hello = of.worker.receive(kHelloSeconds);
  if (!hello) {
    return hello.status();
  }
  if ((*hello)[0] != "hello" || (*hello)[1] != kChannelProtocol ||
      (*hello)[2] != version()) {
    return makeError(ExitCode::Version, "'", program, "' is of version ",
                     (*hello)[2], ", expected that of the library, ",
                     version());
  }
  return Status();
}

static Status begin(const divisi_compilation_options &options,
                    divisi_compilation &of) {
  Status status = checkModel(options);
  WorkerStart start;
  if (status.isOk()) {
    status = addArguments(options, start.arguments);
  }
  Expected<std::string> program = programOf(options.compiler);
  if (!status.isOk() || !program) {
    return status.isOk() ? program.status() : status;
  }
  start.program = std::move(*program);
  if (options.model_bytes) {
    start.input = {static_cast<const std::byte *>(options.model_bytes),
                   options.model_size};
  }
  start.arguments.push_back("--");
  start.arguments.push_back(options.model_bytes ? "-" : options.model_path);
  of.progress = options.progress;
  of.progressUser = options.progress_user;
  of.log = options.log;
  of.logUser = options.log_user;
  status = of.worker.start(start);
  if (status.isOk()) {
    status = greet(of, start.program);
  }
  return status.isOk() ? finish(of) : status;
}

/// The defaults of what a caller does not know.
static divisi_compilation_options noOptions() {
  divisi_compilation_options options;
  std::memset(&options, 0, sizeof(options));
  return options;
}

divisi_error *divisi::create(const divisi_compilation_options *given,
                             divisi_compilation **compilation) {
  divisi_compilation_options options = noOptions();
  return guarded(options.model_path, [&] {
    Status status = clearResult(compilation, "the pointer to the compilation");
    if (status.isOk()) {
      status = checkGiven(given, "options");
    }
    if (status.isOk()) {
      status = readStruct(given, options, "divisi_compilation_options");
    }
    if (!status.isOk()) {
      return status;
    }
    auto made = std::make_unique<divisi_compilation>();
    status = begin(options, *made);
    if (status.isOk()) {
      *compilation = made.release();
    }
    return status;
  });
}

void divisi::freeCompilation(divisi_compilation *compilation) {
  if (checkHandle(compilation).isOk()) {
    delete compilation;
  }
}
