//===- Budget.h - What a solver may still spend -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work is counted by whoever does it; the clock and the stop flag are asked
// about once in a while, when work is spent:
//
//   while (budget.spend(entries)) { … }
//   outcome.stopped = budget.why();
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_RUN_BUDGET_H
#define DIVISI_LIB_SEARCH_RUN_BUDGET_H

#include "divisi/Search/Solvers.h"
#include "divisi/Support/Clock.h"

namespace divisi::search {

/// Counts the work of one solver and says when it has to end.
class Budget {
public:
  /// `options` must outlive this.
  explicit Budget(const Options &options)
      : options_(options), work_(options.work),
        start_(options.start == 0 ? steadySeconds() : options.start) {}

  /// Takes `work` away. False once something has run out; then always false.
  bool spend(int64_t work) {
    spent_ += work;
    if (spent_ >= nextLook_) {
      look();
    }
    return !over_;
  }

  /// Asks the clock and the flag now.
  void look() {
    constexpr int64_t kBetweenLooks = 1 << 18;
    nextLook_ = std::min(spent_ + kBetweenLooks, work_);
    if (over_) {
      return;
    }
    if (options_.stop.isRaised()) {
      end(Stopped::Interrupted);
    } else if (options_.timeLimit && seconds() >= *options_.timeLimit) {
      end(Stopped::Time);
    } else if (spent_ >= work_) {
      end(Stopped::Work);
    }
  }

  /// Ends the run for a reason of the solver's own.
  void end(Stopped why) {
    over_ = true;
    why_ = why;
  }

  /// Adds `work`; a run that has ended for want of it goes on.
  void extend(int64_t work) {
    work_ += work;
    if (over_ && why_ == Stopped::Work && spent_ < work_) {
      over_ = false;
      why_ = Stopped::Finished;
    }
  }

  /// Whether the solver has to end.
  bool over() const { return over_; }
  /// What ran out; Finished if nothing did.
  Stopped why() const { return why_; }
  /// Entries looked at so far.
  int64_t spent() const { return spent_; }
  /// Entries that may still be looked at.
  int64_t left() const { return std::max<int64_t>(work_ - spent_, 0); }
  /// Since Options::start.
  double seconds() const { return steadySeconds() - start_; }

private:
  const Options &options_;
  int64_t work_; ///< Options::work, and what was added.
  double start_;
  int64_t spent_ = 0, nextLook_ = 0;
  bool over_ = false;
  Stopped why_ = Stopped::Finished;
};

} // namespace divisi::search

#endif // DIVISI_LIB_SEARCH_RUN_BUDGET_H
