//===- Status.h - What went wrong at run time -----------------*- C++ -*--===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one error type of the runtime. It mirrors the compiler's, which the
// runtime may not include: the numbers are the tools' exit codes.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_STATUS_H
#define DIVISI_RUNTIME_STATUS_H

#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace divisi::rt {

/// The exit code that an error means.
enum class ErrorCode : int {
  Ok = 0,
  Internal = 1,    ///< A defect of Divisi.
  Usage = 2,       ///< Wrong options or arguments.
  File = 3,        ///< A file cannot be read or written.
  Invalid = 4,     ///< Invalid content: artifact, tensors.
  Unsupported = 5, ///< An operator or type without kernel.
  Device = 9,      ///< A device or transport failed, or memory ran out.
  Version = 10,    ///< Made by a newer version.
};

/// Success, or an error code with a message.
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;
  Status(ErrorCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool isOk() const { return code_ == ErrorCode::Ok; }
  ErrorCode code() const { return code_; }
  /// Empty on success.
  const std::string &message() const { return message_; }

  /// This error with `context: ` before its message; success stays success.
  Status in(const std::string &context) const {
    return isOk() ? *this : Status(code_, context + ": " + message_);
  }

private:
  ErrorCode code_ = ErrorCode::Ok;
  std::string message_;
};

/// The error of `code` whose message is all `parts`, one after the other.
template <typename... Parts>
Status makeError(ErrorCode code, const Parts &...parts) {
  std::ostringstream os;
  (os << ... << parts);
  return Status(code, os.str());
}

/// A `T`, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : value_(std::move(value)) {}
  /// `status` is not ok.
  Expected(Status status) : status_(std::move(status)) {}

  explicit operator bool() const { return value_.has_value(); }
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_STATUS_H
