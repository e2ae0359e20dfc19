//===- result.hpp - A value or an error -------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_RESULT_HPP
#define DIVISI_INCLUDE_DIVISI_C_RESULT_HPP

#include "divisi-c/base.h"

#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace divisi {
inline namespace v1 {

/// What is wrong.
struct Error {
  divisi_code code = DIVISI_OK; ///< What kind of error it is.
  std::string message;          ///< What is wrong and what to do.
  std::string place;            ///< A file, an entry, a tensor; or empty.

  /// The message, after the place where it does not name that.
  std::string text() const {
    bool isNamed = message.find(place) != std::string::npos;
    return isNamed ? message : place + ": " + message;
  }
};

/// An error that was thrown; `what` is its text.
class Exception : public std::runtime_error {
public:
  /// That error.
  explicit Exception(Error error)
      : std::runtime_error(error.text()), error_(std::move(error)) {}
  /// The error.
  const Error &error() const { return error_; }

private:
  Error error_;
};

namespace detail {
/// Without exceptions, to ask for what is not there is a defect of the caller.
[[noreturn]] inline void fail(const Error &error) {
#if defined(__cpp_exceptions)
  throw Exception(error);
#else
  (void)error;
  std::abort();
#endif
}
} // namespace detail

/// A value, or an error.
template <typename T> class [[nodiscard]] Result {
public:
  /// That value.
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  /// That error.
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  /// Whether there is a value.
  explicit operator bool() const { return held_.index() == 0; }
  /// The error; only where there is one.
  const Error &error() const { return *std::get_if<1>(&held_); }
  /// The value; throws where there is an error.
  T &value() & {
    check();
    return *std::get_if<0>(&held_);
  }
  T &&value() && {
    check();
    return std::move(*std::get_if<0>(&held_));
  }
  /// The value; only where there is one.
  T &operator*() { return *std::get_if<0>(&held_); }
  T *operator->() { return std::get_if<0>(&held_); }

private:
  void check() const {
    if (!*this) {
      detail::fail(error());
    }
  }
  std::variant<T, Error> held_;
};

/// Success, or an error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  /// That error.
  Result(Error error) : error_(std::move(error)) {}

  /// Whether it succeeded.
  explicit operator bool() const { return !error_; }
  /// The error; only where there is one.
  const Error &error() const { return *error_; }
  /// Throws where there is an error.
  void value() const {
    if (error_) {
      detail::fail(*error_);
    }
  }

private:
  std::optional<Error> error_;
};

namespace detail {

/// What an error says; it is freed.
inline Error take(const divisi_error_api &errors, divisi_error *error) {
  Error taken{errors.code(error), errors.message(error), errors.place(error)};
  errors.free(error);
  return taken;
}

/// The result of a call.
inline Result<void> done(const divisi_error_api &errors, divisi_error *error) {
  return error ? Result<void>(take(errors, error)) : Result<void>();
}

/// NULL where a text is not given.
inline const char *textOrNull(const std::string &text) {
  return text.empty() ? nullptr : text.c_str();
}

/// The error of a library of another version.
inline Error wrongVersion(const char *library) {
  return {DIVISI_VERSION,
          std::string(library) + " is of another version than the header",
          library};
}

} // namespace detail

/// Told of notes and warnings, by the thread that is in a call. It does not
/// throw.
using Log = std::function<void(divisi_severity, std::string_view)>;

namespace detail {
/// Calls a Log.
inline void log(void *user, divisi_severity severity,
                const char *message) noexcept {
  (*static_cast<Log *>(user))(severity, message);
}
} // namespace detail

} // namespace v1
} // namespace divisi

#endif // DIVISI_INCLUDE_DIVISI_C_RESULT_HPP
