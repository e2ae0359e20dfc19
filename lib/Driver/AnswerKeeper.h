//===- AnswerKeeper.h - Keeps the best answer so far on disk ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A solver that runs for minutes may be killed at any moment, and then its best
// answer must be on disk. Writing takes time, though, and answers may come in
// thousands: the first is written before the solver goes on, later ones by a
// thread of their own, the newest only, and seldom enough not to be felt.
//
// Nothing is written that search::check refuses.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_ANSWERKEEPER_H
#define DIVISI_LIB_DRIVER_ANSWERKEEPER_H

#include "divisi/Search/SolutionIO.h"
#include "divisi/Support/Thread.h"

#include <condition_variable>
#include <mutex>

namespace divisi {

/// Writes the answers of one solver into one file, from any thread.
class AnswerKeeper {
public:
  /// Writes answers to `problem` into the file `path`. Both must outlive it.
  /// After the first, answers are written at least `pause` seconds apart. What
  /// is no file (stdout, a pipe) gets the last one alone.
  AnswerKeeper(const std::string &path, const search::Problem &problem,
               double pause = 0.5);
  /// Writes what is still waiting, unless finish() was called.
  ~AnswerKeeper();

  /// Writes `file` now if none is written yet, else soon if no newer one comes.
  /// An answer without a certificate gets the bound that needs none. Returns
  /// the first failure since the last call, which does not end the writing.
  Status offer(search::SolutionFile file);

  /// Writes `file` in place of what is waiting: nothing follows it. Its
  /// solution has been checked.
  Status finish(const search::SolutionFile &file);

private:
  void writeWaiting();
  void write(const search::SolutionFile &file);
  void stop();

  const std::string &path_;
  const search::Problem &problem_;
  search::Wide trivialBound_;
  const double pause_;
  const bool isPipe_; ///< Whether nothing that is written can be replaced.
  std::mutex mutex_;
  std::condition_variable changed_;
  /// Under `mutex`.
  std::optional<search::SolutionFile> waiting_;
  Status failure_;
  bool stopping_ = false;
  /// When the next may be written: seconds of the steady clock. Under `mutex`.
  double due_ = 0;
  Thread thread_; ///< Since the first answer is written.
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_ANSWERKEEPER_H
