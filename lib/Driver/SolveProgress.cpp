//===- SolveProgress.cpp - Progress lines and trace of a solver -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Console.h"
#include "SolveReport.h"

using namespace llvm;
using namespace divisi;
using search::TraceEntry;

/// A better bound is news if it closes so much of the gap.
static constexpr double kNews = 0.01;

SolveProgress::SolveProgress(search::SolutionFile header, AnswerKeeper *writer,
                             bool quiet)
    : header_(std::move(header)), writer_(writer),
      line_(ProgressLine::Elsewhere::Lines, quiet) {}

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
  return describeSearch(*entry.seconds, entry.cost, entry.lowerBound);
}

void SolveProgress::offer(const search::Solution &solution) {
  search::SolutionFile file = header_;
  file.solution = solution;
  file.stopped = "running";
  if (Status failed = writer_->offer(std::move(file)); !failed.isOk()) {
    line_.clear();
    sayWarning() << failed.message();
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
  line_.show(*entry.seconds, describe(entry), /*atOnce=*/isFirst);
}

void SolveProgress::end(const search::Outcome &outcome, double seconds) {
  if (outcome.verdict == search::Verdict::Solved) {
    TraceEntry entry{seconds, outcome.work, outcome.solution.cost,
                     outcome.solution.lowerBound, "end"};
    bool known = !trace().empty() && trace().back().cost == entry.cost &&
                 trace().back().lowerBound == entry.lowerBound;
    if (!known) {
      header_.trace.push_back(entry);
      line_.show(seconds, describe(entry));
    }
  }
}

void SolveProgress::endLine() { line_.end(); }
