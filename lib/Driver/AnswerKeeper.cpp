//===- AnswerKeeper.cpp - Keeps the best answer so far on disk ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AnswerKeeper.h"

#include "Process.h"

#include <algorithm>
#include <chrono>

using namespace divisi;

/// Later answers are written at least so many times apart what writing one
/// takes.
static constexpr double kShare = 20;

AnswerKeeper::AnswerKeeper(const std::string &path,
                           const search::Problem &problem, double pause)
    : path(path), problem(problem),
      trivialBound(search::trivialLowerBound(problem)), pause(pause) {}

AnswerKeeper::~AnswerKeeper() { stop(); }

void AnswerKeeper::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_all();
  if (thread.joinable()) {
    thread.join();
  }
}

/// Checks and writes one answer, and says when the next may follow. Called
/// without `mutex`, which is taken to say how it went.
void AnswerKeeper::write(const search::SolutionFile &file) {
  double begin = steadySeconds();
  std::optional<std::string> wrong = search::check(problem, file.solution);
  Status status = wrong ? Status(ExitCode::Internal,
                                 "an answer on the way is wrong: " + *wrong)
                        : search::writeSolutionFile(path, file);
  double end = steadySeconds();
  std::lock_guard lock(mutex);
  due = end + std::max(pause, kShare * (end - begin));
  if (failure.isOk()) {
    failure = std::move(status);
  }
}

/// The thread's loop: waits for an answer, then until one may be written, and
/// takes the newest there is by then.
void AnswerKeeper::writeWaiting() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return waiting || stopping; });
    changed.wait_for(lock, std::chrono::duration<double>(due - steadySeconds()),
                     [&] { return stopping; });
    if (!waiting) {
      return;
    }
    search::SolutionFile file = std::move(*waiting);
    waiting.reset();
    lock.unlock();
    write(file);
    lock.lock();
  }
}

Status AnswerKeeper::offer(search::SolutionFile file) {
  if (file.solution.certificate.tree.empty()) {
    file.solution.certificate = {};
    file.solution.lowerBound = trivialBound;
  }
  // Until one is there, the solver waits for it.
  if (!thread.joinable()) {
    write(file);
    std::lock_guard lock(mutex);
    if (failure.isOk()) {
      thread = std::thread([this] { writeWaiting(); });
    }
    return std::exchange(failure, Status());
  }
  std::lock_guard lock(mutex);
  waiting = std::move(file);
  changed.notify_all();
  return std::exchange(failure, Status());
}

Status AnswerKeeper::finish(const search::SolutionFile &file) {
  {
    std::lock_guard lock(mutex);
    waiting.reset();
  }
  stop();
  return search::writeSolutionFile(path, file);
}
