//===- Calls.cpp - A call is a request to the compiler --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include <charconv>

using namespace divisi;

Status divisi::checkHandle(const divisi_compilation *compilation) {
  return Handle::check(compilation, divisi_compilation::kind, "compilation");
}

static Status cancelled() {
  return Status(kCancelled, "the compilation was cancelled; make another one "
                            "to go on");
}

namespace {

/// Makes its thread the one that is in a call.
class Turn {
public:
  explicit Turn(divisi_compilation &of)
      : of_(of), use_(of), status_(use_.status("compilation")) {
    if (status_.isOk()) {
      std::lock_guard lock(of.mutex);
      status_ = of.dead;
      of.isInCall = isTaken_ = true;
      ++of.number;
      of.cancels = 0;
    }
  }
  ~Turn() {
    if (isTaken_) {
      std::lock_guard lock(of_.mutex);
      of_.isInCall = false;
      if (of_.cancels > 1 && of_.dead.isOk()) {
        of_.dead = cancelled(); // The process was killed, answer or not.
      }
    }
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

  /// Why it may not call.
  const Status &status() const { return status_; }

private:
  divisi_compilation &of_;
  HandleUse use_;
  Status status_;
  bool isTaken_ = false;
};

} // namespace

double divisi::numberIn(std::string_view text) {
  double number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

static void tellProgress(divisi_compilation &of, const char *phase, double best,
                         double bound) {
  of.hasPhase = *phase != 0;
  if (of.progress) {
    divisi_progress_info info{sizeof(info), phase, best, bound};
    of.progress(of.progressUser, &info);
  }
}

/// Hands on what the compiler tells until it answers. Then the answer is kept.
static Status waitForAnswer(divisi_compilation &of) {
  while (true) {
    Expected<Frame> message = of.worker.receive();
    if (!message) {
      return message.status();
    }
    Frame &news = *message;
    if (news[0] == "result") {
      of.answer = std::move(news);
      return Status();
    }
    if (news[0] == "progress") {
      tellProgress(of, news[1].data(), numberIn(news[2]), numberIn(news[3]));
    } else if (of.log) {
      of.log(of.logUser, news[0] == "warning" ? DIVISI_WARNING : DIVISI_NOTE,
             news[1].data());
    }
  }
}

static Status resultOf(const Frame &answer) {
  return Status(ExitCode(int(numberIn(answer[1]))), std::string(answer[2]));
}

/// The process is no more, for that reason, or because it was told to end.
static Status bury(divisi_compilation &of, const Status &reason) {
  of.worker.end();
  std::lock_guard lock(of.mutex);
  of.dead = of.cancels > 0 || reason.code() == kCancelled
                ? cancelled()
                : Status(reason.code(),
                         "the compilation has ended: " + reason.message());
  return of.cancels > 0 ? of.dead : reason;
}

Status divisi::finish(divisi_compilation &of) {
  Status status = waitForAnswer(of);
  if (of.hasPhase) {
    tellProgress(of, "", -1, -1);
  }
  return status.isOk() ? resultOf(of.answer) : bury(of, status);
}

Status divisi::ask(divisi_compilation *of,
                   std::initializer_list<std::string_view> request) {
  if (Status status = checkHandle(of); !status.isOk()) {
    return status;
  }
  Turn turn(*of);
  if (!turn.status().isOk()) {
    return turn.status();
  }
  Status sent = of->worker.request(of->number, request);
  if (sent.code() == ExitCode::Usage) {
    return sent;
  }
  return sent.isOk() ? finish(*of) : bury(*of, sent);
}

Status divisi::askText(divisi_compilation *of, const char **text,
                       std::initializer_list<std::string_view> request) {
  Status status = clearResult(text, "the pointer to the text");
  if (status.isOk()) {
    status = ask(of, request);
  }
  if (status.isOk()) {
    *text = of->answer[3].data();
  }
  return status;
}

bool divisi::isDescriptor(std::string_view path) {
  return path == "-" || path.starts_with("/dev/std") ||
         path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}
