//===- Status.h - What went wrong, and the exit code it means ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one error type of the compiler's libraries and of the runtime. A function
// that can fail because of its input returns a Status, or an Expected<T>:
//
//   Expected<Model> model = readModel(path);
//   if (!model)
//     return model.status();
//   use(*model);
//
// A message says what is wrong, where, what was got and expected, and what to
// do next: lower-case start, no final period.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_STATUS_H
#define DIVISI_SUPPORT_STATUS_H

#include <cassert>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace divisi {

/// The exit codes of the tools: documented and stable.
enum class ExitCode : int {
  Ok = 0,
  Internal = 1,    ///< A defect of Divisi.
  Usage = 2,       ///< Options wrong, or contradicting each other or the model.
  File = 3,        ///< A file cannot be read or written.
  Invalid = 4,     ///< Invalid content: model, IR, artifact, input tensors.
  Unsupported = 5, ///< An operator or type that Divisi does not do.
  Infeasible = 6,  ///< No plan fits; the message says what binds.
  NoPlan = 7,      ///< No plan found in time.
  Differs = 8,     ///< Results differ (`check`).
  Device = 9,      ///< A device or transport failed.
  Version = 10,    ///< Artifact of another format.
};

/// Success, or an exit code with a message.
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;
  /// A failure, if `code` is not Ok.
  Status(ExitCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  /// Whether it is success.
  bool isOk() const { return code_ == ExitCode::Ok; }
  /// Ok on success.
  ExitCode code() const { return code_; }
  /// Empty on success.
  const std::string &message() const { return message_; }

  /// This error with `context: ` before its message; success stays success.
  Status in(const std::string &context) const {
    return isOk() ? *this : Status(code_, context + ": " + message_);
  }

private:
  ExitCode code_ = ExitCode::Ok;
  std::string message_;
};

/// The error of `code` whose message is all `parts`, one after the other.
template <typename... Parts>
Status makeError(ExitCode code, const Parts &...parts) {
  std::ostringstream os;
  (os << ... << parts);
  return Status(code, os.str());
}

/// A `T`, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  /// Success.
  Expected(T value) : value_(std::move(value)) {}
  /// `status` is not ok.
  Expected(Status status) : status_(std::move(status)) {
    assert(!status_.isOk() && "an Expected without value needs a failure");
  }

  explicit operator bool() const { return value_.has_value(); }
  /// Ok if there is a value.
  const Status &status() const { return status_; }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

} // namespace divisi

#endif // DIVISI_SUPPORT_STATUS_H
