//===- AnswerKeeper.cpp - Keeps the best answer so far on disk ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AnswerKeeper.h"

#include "divisi/Support/Clock.h"
#include "divisi/Support/OutputFile.h"

#include <algorithm>
#include <chrono>

using namespace divisi;

/// Later answers are written at least so many times apart what writing one
/// takes.
static constexpr double kShare = 20;

AnswerKeeper::AnswerKeeper(const std::string &path,
                           const search::Problem &problem, double pause)
    : path_(path), problem_(problem),
      trivialBound_(search::trivialLowerBound(problem)), pause_(pause),
      isPipe_(isWrittenInPlace(path)) {}

AnswerKeeper::~AnswerKeeper() { stop(); }

void AnswerKeeper::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.isJoinable()) {
    thread_.join();
  }
}

/// Checks and writes one answer, and says when the next may follow. Called
/// without `mutex`, which is taken to say how it went.
void AnswerKeeper::write(const search::SolutionFile &file) {
  double begin = steadySeconds();
  std::optional<std::string> wrong = search::check(problem_, file.solution);
  Status status = wrong ? Status(ExitCode::Internal,
                                 "an answer on the way is wrong: " + *wrong)
                        : search::writeSolutionFile(path_, file);
  double end = steadySeconds();
  std::lock_guard lock(mutex_);
  due_ = end + std::max(pause_, kShare * (end - begin));
  if (failure_.isOk()) {
    failure_ = std::move(status);
  }
}

/// The thread's loop: waits for an answer, then until one may be written, and
/// takes the newest there is by then.
void AnswerKeeper::writeWaiting() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return waiting_ || stopping_; });
    changed_.wait_for(lock,
                      std::chrono::duration<double>(due_ - steadySeconds()),
                      [&] { return stopping_; });
    if (!waiting_) {
      return;
    }
    search::SolutionFile file = std::move(*waiting_);
    waiting_.reset();
    lock.unlock();
    write(file);
    lock.lock();
  }
}

Status AnswerKeeper::offer(search::SolutionFile file) {
  if (isPipe_) {
    return Status();
  }
  if (file.solution.certificate.tree.empty()) {
    file.solution.certificate = {};
    file.solution.lowerBound = trivialBound_;
  }
  // Until one is there, the solver waits for it.
  if (!thread_.isJoinable()) {
    write(file);
    std::lock_guard lock(mutex_);
    if (failure_.isOk()) {
      // Without one, the solver waits for each answer.
      auto thread = Thread::start("answers", [this] { writeWaiting(); });
      thread_ = thread ? std::move(*thread) : Thread();
    }
    return std::exchange(failure_, Status());
  }
  std::lock_guard lock(mutex_);
  waiting_ = std::move(file);
  changed_.notify_all();
  return std::exchange(failure_, Status());
}

Status AnswerKeeper::finish(const search::SolutionFile &file) {
  {
    std::lock_guard lock(mutex_);
    waiting_.reset();
  }
  stop();
  return search::writeSolutionFile(path_, file);
}
