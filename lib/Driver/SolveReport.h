//===- SolveReport.h - What divisi solve prints -----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_SOLVEREPORT_H
#define DIVISI_LIB_DRIVER_SOLVEREPORT_H

#include "AnswerKeeper.h"
#include "ProgressLine.h"
#include "SearchLine.h"
#include "divisi/Search/Solvers.h"

#include "llvm/Support/raw_ostream.h"

namespace divisi {

/// Follows a solver: prints a line of progress, keeps the trace, and hands
/// better answers to the writer.
class SolveProgress {
public:
  /// `header` names problem, solver and seed. `writer` may be null.
  SolveProgress(search::SolutionFile header, AnswerKeeper *writer, bool quiet);

  /// To be called with each of the solver's lines.
  void operator()(const search::Progress &line);

  /// Adds how it ended to the trace.
  void end(const search::Outcome &outcome, double seconds);

  /// Prints what the line does not say yet. An answer that it names is on disk
  /// by then.
  void endLine();

  /// What was known when, with seconds.
  const std::vector<search::TraceEntry> &trace() const { return header_.trace; }
  /// Seconds to the first answer.
  std::optional<double> firstAnswer() const;

private:
  bool isNews(const search::TraceEntry &entry) const;
  void offer(const search::Solution &solution);

  search::SolutionFile header_; ///< With the trace so far.
  AnswerKeeper *writer_;
  ProgressLine line_;
};

/// What is known when a solver has ended.
struct SolveResult {
  /// What was to be solved.
  const search::Problem &problem;
  const search::SolutionFile &file; ///< `solution` only if solved.
  const search::Outcome &outcome;   ///< Its solution has moved to `file`.
  const std::vector<search::TraceEntry> &trace; ///< With seconds.
  unsigned threads = 1;
  double seconds = 0; ///< Since the process started.
  std::optional<double> firstAnswer;
};

/// Of a solved problem: one fact a line.
void printResult(const SolveResult &result, llvm::raw_ostream &os);
/// Of any: one object. Integers are exact, whatever their size.
void printResultJSON(const SolveResult &result, llvm::raw_ostream &os);

/// What `divisi solve --check` has verified.
void printVerified(const search::Problem &problem,
                   const search::Solution &solution, llvm::raw_ostream &os);
/// The same as one object.
void printVerifiedJSON(const search::Problem &problem,
                       const search::Solution &solution, llvm::raw_ostream &os);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_SOLVEREPORT_H
