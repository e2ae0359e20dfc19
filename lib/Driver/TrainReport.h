//===- TrainReport.h - What a training shows of its steps -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_TRAINREPORT_H
#define DIVISI_LIB_DRIVER_TRAINREPORT_H

#include "ProgressLine.h"
#include "divisi/runtime/training/BatchReader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace divisi {

/// What one step has done.
struct StepResult {
  int64_t step = 0;                      ///< From 1.
  int64_t epoch = 0;                     ///< From 0.
  int64_t samples = 0;                   ///< Of its batch.
  double loss = 0;                       ///< Of the batch, before the update.
  double seconds = 0;                    ///< That it took.
  bool isSkipped = false;                ///< Undone: something is not finite.
  std::string reason;                    ///< Why it is undone.
  std::map<std::string, double> numbers; ///< All outputs that are one number.
  rt::DataPosition next;                 ///< Where the next step begins.
};

/// `nan`, `inf` or `-inf`, of a number that is one of these.
std::string nonfiniteText(double value);

/// Tells of the steps of one run, in its first process.
class TrainReport {
public:
  /// What the report says of all steps.
  struct Run {
    int64_t done = 0;        ///< Steps of earlier runs.
    int64_t last = 0;        ///< The step it ends with.
    int64_t memoryBytes = 0; ///< What the device with most of it holds.
    bool asJson = false;     ///< A line for each step on stdout.
  };
  /// Says nothing if `isQuiet`.
  TrainReport(Run run, bool isQuiet);

  /// Tells of the next step.
  void add(const StepResult &result);
  /// What was shown stays; other messages may follow. Says how it went if the
  /// steps are done.
  void end();

private:
  void writeJson(const StepResult &result) const;
  std::string describe(const StepResult &result) const;

  Run run_;
  bool isQuiet_;
  ProgressLine line_;
  double begin_;                ///< Seconds of the clock.
  int64_t samples_ = 0;         ///< Of all steps so far.
  std::optional<double> first_; ///< The first step's loss.
  int64_t undone_ = 0;          ///< How many of the last steps are undone.
  StepResult latest_;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_TRAINREPORT_H
