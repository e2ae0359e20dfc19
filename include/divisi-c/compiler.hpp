//===- compiler.hpp - Planning and compiling models from C++20 --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See divisi.hpp.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_COMPILER_HPP
#define DIVISI_INCLUDE_DIVISI_C_COMPILER_HPP

#include "divisi-c/compiler.h"
#include "divisi-c/result.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace divisi {
inline namespace v1 {

namespace detail {
/// The functions of libdivisi_compiler; NULL where it is of another version.
inline const divisi_compiler_api *compiler() {
  static const divisi_compiler_api *const api =
      divisi_compiler_get_api(DIVISI_COMPILER_VERSION);
  return api;
}
} // namespace detail

/// What is compiled, and how: divisi_compilation_options.
struct CompilationOptions {
  std::string model;                     ///< A file; or empty, and the next.
  std::span<const std::byte> modelBytes; ///< Read by `create`.
  std::vector<std::string> arguments;    ///< Of divisi compile.
  /// Told how far a call is, by the thread that is in it. It does not throw.
  std::function<void(const divisi_progress_info &)> progress;
  Log log;              ///< May be empty.
  std::string compiler; ///< Empty: the program beside the library.
};

/// A model on its way to an artifact, by a process of its own.
class Compilation {
public:
  /// Starts the compiler and imports the model.
  static Result<Compilation> create(CompilationOptions options) {
    const divisi_compiler_api *api = detail::compiler();
    if (!api) {
      return detail::wrongVersion("libdivisi_compiler");
    }
    Compilation made(std::move(options));
    CompilationOptions &mine = *made.options_;
    std::vector<const char *> arguments;
    for (const std::string &argument : mine.arguments) {
      arguments.push_back(argument.c_str());
    }
    divisi_compilation_options c{};
    c.struct_size = sizeof(c);
    c.model_path = detail::textOrNull(mine.model);
    c.model_bytes = mine.modelBytes.data();
    c.model_size = mine.modelBytes.size();
    c.arguments = arguments.data();
    c.num_arguments = arguments.size();
    c.progress = mine.progress ? progress : nullptr;
    c.progress_user = &mine;
    c.log = mine.log ? detail::log : nullptr;
    c.log_user = &mine.log;
    c.compiler = detail::textOrNull(mine.compiler);
    divisi_compilation *handle = nullptr;
    if (divisi_error *error = api->create(&c, &handle)) {
      return detail::take(api->errors, error);
    }
    made.handle_.reset(handle);
    return made;
  }

  /// For the C API.
  divisi_compilation *get() const { return handle_.get(); }
  /// Ends what is in progress, from any thread.
  Result<void> cancel() { return done(detail::compiler()->cancel(get())); }
  /// Finds a plan.
  Result<void> plan() { return done(detail::compiler()->plan(get())); }
  /// What the plan does, as "text" or "json".
  Result<std::string> explain(const char *format = "text") {
    return textOf(detail::compiler()->explain, format);
  }
  /// The module after a stage, as text.
  Result<std::string> dump(const std::string &stage) {
    return textOf(detail::compiler()->dump, stage.c_str());
  }
  /// Lets operators of that name work as `split` says, and returns the
  /// predicted time of a run then, in nanoseconds.
  Result<double> setSplit(const std::string &operators,
                          const std::string &split) {
    double nanoseconds = 0;
    Result<void> status = done(detail::compiler()->set_split(
        get(), operators.c_str(), split.c_str(), &nanoseconds));
    return status ? Result<double>(nanoseconds) : status.error();
  }
  /// The strategies and layouts of operators of that name, or of all for an
  /// empty one, as JSON.
  Result<std::string> layouts(const std::string &operators = "") {
    return textOf(detail::compiler()->layouts, detail::textOrNull(operators));
  }
  /// Writes the artifact.
  Result<void> compile(const std::string &path) {
    return done(detail::compiler()->compile(get(), path.c_str()));
  }

private:
  struct Free {
    void operator()(divisi_compilation *handle) const {
      detail::compiler()->free(handle);
    }
  };
  explicit Compilation(CompilationOptions options)
      : options_(std::make_unique<CompilationOptions>(std::move(options))) {}
  static Result<void> done(divisi_error *error) {
    return detail::done(detail::compiler()->errors, error);
  }
  static void progress(void *user, const divisi_progress_info *info) noexcept {
    static_cast<CompilationOptions *>(user)->progress(*info);
  }
  template <typename Call>
  Result<std::string> textOf(Call call, const char *of) {
    const char *text = nullptr;
    Result<void> status = done(call(get(), of, &text));
    return status ? Result<std::string>(text) : status.error();
  }

  /// What call-backs are handed, at a fixed place; it goes after the handle.
  std::unique_ptr<CompilationOptions> options_;
  std::unique_ptr<divisi_compilation, Free> handle_;
};

} // namespace v1
} // namespace divisi

#endif // DIVISI_INCLUDE_DIVISI_C_COMPILER_HPP
