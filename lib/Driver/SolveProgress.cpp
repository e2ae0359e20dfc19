//===- SolveProgress.cpp - Progress lines and trace of a solver -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SolveReport.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace divisi;
using search::TraceEntry;

/// Seconds between two lines: on a terminal, where the line is rewritten, and
/// elsewhere.
static constexpr double kRewritePause = 0.1;
static constexpr double kLinePause = 1;
/// A better bound is news if it closes so much of the gap.
static constexpr double kNews = 0.01;

SolveProgress::SolveProgress(search::SolutionFile header, AnswerKeeper *writer,
                             bool quiet)
    : header_(std::move(header)), writer_(writer), quiet_(quiet),
      onTerminal_(sys::Process::StandardErrIsDisplayed()) {}

std::optional<double> SolveProgress::firstAnswer() const {
  for (const TraceEntry &entry : header_.trace) {
    if (entry.cost) {
      return entry.seconds;
    }
  }
  return std::nullopt;
}

/// Bounds rise in thousands of small steps, of which the trace keeps a few.
bool SolveProgress::isNews(const TraceEntry &entry) const {
  if (header_.trace.empty()) {
    return entry.cost || entry.lowerBound;
  }
  const TraceEntry &last = header_.trace.back();
  if (entry.cost != last.cost || !last.lowerBound || !entry.lowerBound) {
    return entry.cost != last.cost || entry.lowerBound != last.lowerBound;
  }
  if (!entry.cost) {
    return search::relativeGap(*entry.lowerBound, *last.lowerBound) > kNews;
  }
  return search::relativeGap(*entry.cost, *entry.lowerBound) <
         (1 - kNews) * search::relativeGap(*last.cost, *last.lowerBound);
}

static std::string describe(const TraceEntry &entry) {
  std::string text =
      formatv("{0,8:F1} s  best {1}  bound {2}", *entry.seconds,
              entry.cost ? search::toString(*entry.cost) : "-",
              entry.lowerBound ? search::toString(*entry.lowerBound) : "-");
  if (entry.cost && entry.lowerBound) {
    text += formatv("  gap {0:P3}",
                    search::relativeGap(*entry.cost, *entry.lowerBound))
                .str();
  }
  return text;
}

void SolveProgress::print(const TraceEntry &entry) {
  errs() << (onTerminal_ ? "\r\033[K" : "") << describe(entry)
         << (onTerminal_ ? "" : "\n");
  printedAt_ = *entry.seconds;
  unprinted_.reset();
}

void SolveProgress::offer(const search::Solution &solution) {
  search::SolutionFile file = header_;
  file.solution = solution;
  file.stopped = "running";
  if (Status failed = writer_->offer(std::move(file)); !failed.isOk()) {
    errs() << (onTerminal_ ? "\r\033[K" : "")
           << "divisi: warning: " << failed.message() << "\n";
  }
}

/// Keeps what is news, hands better answers on, and prints now and then.
void SolveProgress::operator()(const search::Progress &line) {
  TraceEntry entry{line.seconds, line.work, line.cost, line.lowerBound,
                   std::string(line.by)};
  bool isFirst = line.cost && !firstAnswer();
  if (isNews(entry)) {
    header_.trace.push_back(entry);
  }
  // Who has read the line may kill the process: the file is there.
  if (line.improved && writer_) {
    offer(*line.improved);
  }
  double pause = onTerminal_ ? kRewritePause : kLinePause;
  unprinted_ = entry;
  if (!quiet_ &&
      (isFirst || printedAt_ < 0 || *entry.seconds - printedAt_ >= pause)) {
    print(entry);
  }
}

void SolveProgress::end(const search::Outcome &outcome, double seconds) {
  if (outcome.verdict == search::Verdict::Solved) {
    TraceEntry entry{seconds, outcome.work, outcome.solution.cost,
                     outcome.solution.lowerBound, "end"};
    bool known = !trace().empty() && trace().back().cost == entry.cost &&
                 trace().back().lowerBound == entry.lowerBound;
    if (!known) {
      header_.trace.push_back(entry);
      unprinted_ = entry;
    }
  }
}

void SolveProgress::endLine() {
  if (!quiet_ && unprinted_) {
    print(*unprinted_);
  }
  if (!quiet_ && onTerminal_ && printedAt_ >= 0) {
    errs() << "\n";
  }
}
