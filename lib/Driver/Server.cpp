//===- Server.cpp - The compiler's end of the channel ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Server.h"

#include "divisi/Support/Clock.h"
#include "divisi/Support/Interrupts.h"
#include "divisi/Support/Version.h"

#include "llvm/ADT/StringRef.h"

#include <charconv>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace divisi;

/// How often it is asked whether the host still lives: another process may have
/// inherited its end of the channel.
static constexpr int kHostMilliseconds = 1000;

/// Seconds between two bounds that are told.
static constexpr double kSearchPause = 0.05;

static std::string textOf(double number) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), number).ptr};
}

Server::Server() : host_(getppid()) {}

divisi::Expected<Server *> Server::start() {
  struct stat about{};
  if (fstat(kChannelDescriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) {
    return Status(
        ExitCode::Usage,
        "serve is called by libdivisi_compiler alone, which a program "
        "links; on the command line use compile, plan or explain");
  }
  // What this process starts (ptxas) is no part of the talk.
  fcntl(kChannelDescriptor, F_SETFD, FD_CLOEXEC);
  auto *server = new Server();
  server->send({"hello", kChannelProtocol, version()});
  auto receiver =
      Thread::start("the compiler's host", [=] { server->receive(); });
  if (!receiver) {
    return receiver.status();
  }
  server->receiver_ = std::move(*receiver);
  return server;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// For all of the process's life, in a thread of its own. Who ends here has
/// nobody to tell.
void Server::receive() {
  Inbox inbox(kMostRequestBytes);
  while (true) {
    pollfd channel{kChannelDescriptor, POLLIN, 0};
    if (poll(&channel, 1, kHostMilliseconds) == 0 && getppid() != host_) {
      _exit(kCancelledExit);
    }
    divisi::Expected<Inbox::News> news = inbox.receive(kChannelDescriptor);
    if (!news || *news == Inbox::News::End) {
      _exit(news ? kCancelledExit : int(news.status().code()));
    }
    if (*news == Inbox::News::Frame) {
      take(std::move(inbox.frame()));
    }
  }
}

void Server::take(Frame message) {
  uint64_t number = 0;
  if (StringRef(message[0]).getAsInteger(10, number)) {
    _exit(int(ExitCode::Internal));
  }
  if (message[1] == "cancel") {
    return cancel(number);
  }
  std::lock_guard lock(mutex_);
  waiting_ = std::move(message);
  arrived_.notify_one();
}

void Server::cancel(uint64_t number) {
  std::lock_guard lock(mutex_);
  if (number_ != number) {
    return; // It is over.
  }
  if (!isFinding_ && !isSearching_) {
    _exit(kCancelledExit);
  }
  isCancelled_ = true;
  Interrupts::raise();
}

const Frame &Server::next() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return waiting_.has_value(); });
  request_ = std::move(*waiting_);
  waiting_.reset();
  uint64_t number = 0;
  (void)StringRef(request_[0]).getAsInteger(10, number);
  number_ = number;
  return request_;
}

void Server::answer(const divisi::Expected<std::string> &text) {
  bool isCancelled = false;
  {
    std::lock_guard lock(mutex_);
    isCancelled = isCancelled_;
    number_.reset();
    isFinding_ = isSearching_ = isCancelled_ = false;
  }
  phase_.clear();
  ExitCode code = text.status().code();
  std::string message = visibleMessage(text.status().message());
  if (isCancelled && code == ExitCode::NoPlan) {
    code = ExitCode(kCancelledExit);
  }
  send({"result", std::to_string(int(code)), message,
        text ? std::string_view(*text) : ""});
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

void Server::setFinding(bool isFinding) {
  std::lock_guard lock(mutex_);
  isFinding_ = isFinding;
}

void Server::beginPhase(StringRef phase, bool isSearch,
                        function_ref<void()> begin) {
  {
    std::lock_guard lock(mutex_);
    isSearching_ = isSearch;
    begin();
    // What begins does not know what was before.
    if (isSearch && isCancelled_) {
      Interrupts::raise();
    }
  }
  if (!phase.empty() && phase != phase_) {
    phase_ = phase.str();
    best_ = bound_ = -1;
    send({"progress", phase_, "-1", "-1"});
  }
}

static double nanoseconds(const std::optional<search::Wide> &time) {
  return time && *time < search::kInfeasible ? double(*time) : -1;
}

/// Bounds rise in thousands of small steps.
void Server::tellSearch(const search::Progress &news) {
  double best = nanoseconds(news.cost), bound = nanoseconds(news.lowerBound);
  double now = steadySeconds();
  bool isNews = best != best_ || bound != bound_;
  if (isNews && (best != best_ || now - toldAt_ >= kSearchPause)) {
    best_ = best;
    bound_ = bound;
    toldAt_ = now;
    send({"progress", phase_, textOf(best), textOf(bound)});
  }
}

void Server::tell(StringRef message) {
  bool isWarning = message.consume_front(kWarningHead);
  message.consume_front(kNoteHead);
  send({isWarning ? "warning" : "note", std::string_view(message)});
}

/// Without a host there is nothing to do.
void Server::send(std::initializer_list<std::string_view> texts) {
  if (!sendFrame(kChannelDescriptor, texts, /*atOnce=*/false).isOk()) {
    _exit(kCancelledExit);
  }
}
