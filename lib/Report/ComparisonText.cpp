//===- ComparisonText.cpp - Other plans beside the one that was found -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldText.h"

#include "divisi/Support/Units.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace llvm;
using namespace divisi;

std::string divisi::workText(int64_t work) {
  return formatAmount(double(work), "") + " steps";
}

/// `1.31`, how many times as long as this plan `nanoseconds` are.
static std::string timesAsLong(const Report &report, int64_t nanoseconds) {
  return formatv("{0:F2}",
                 double(nanoseconds) /
                     double(std::max<int64_t>(report.runNanoseconds(), 1)));
}

/// `micro-batches 4, stages 2: 1.20 ms, taken`
static std::string trialText(const TrialRecord &trial) {
  std::string text = "micro-batches " + std::to_string(trial.microBatches);
  if (trial.stages > 0) {
    text += ", stages " + std::to_string(trial.stages);
  }
  return text + ": " +
         (trial.nanoseconds ? formatTime(*trial.nanoseconds) : trial.leftOut) +
         (trial.isTaken ? ", taken" : "");
}

std::vector<std::pair<std::string, std::string>>
divisi::trialLines(const Report &report) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (report.trials.empty()) {
    return lines;
  }
  lines.emplace_back("pipelines",
                     "compared by simulated time, without rewriting; of other "
                     "numbers nothing is known");
  for (const TrialRecord &trial : report.trials) {
    lines.emplace_back("", trialText(trial));
  }
  return lines;
}

std::vector<std::pair<std::string, std::string>>
divisi::throughputLines(const Report &report) {
  std::optional<ReportThroughput> throughput = throughputOf(report);
  if (!throughput) {
    return {};
  }
  bool isRow = throughput->of == "row";
  std::string text =
      formatv("a {0} every {1}, {2}: {3} {4} in a run of {5}", throughput->of,
              formatTime(throughput->interval()),
              formatAmount(throughput->perSecond(), "/s"), throughput->outputs,
              isRow ? "rows" : "batches", formatTime(throughput->nanoseconds))
          .str();
  if (throughput->lowerBound) {
    text += formatv("; lower bound {0}, of its operators alone, shared evenly",
                    formatTime(*throughput->lowerBound / throughput->outputs))
                .str();
  }
  return {{"throughput", text}};
}

std::vector<std::pair<std::string, std::string>>
divisi::comparisonLines(const Report &report) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const ReportComparison &other : report.ofOneKind) {
    lines.emplace_back(
        formatv("{0} {1}", other.parallelism, other.devices).str(),
        other.fits
            ? formatv("{0}, {1} times as long; tensors take {2} per device",
                      formatTime(other.nanoseconds),
                      timesAsLong(report, other.nanoseconds),
                      formatBytes(double(other.peakBytes)))
                  .str()
            : "no such plan fits");
  }
  if (!report.fewer.empty()) {
    std::string text;
    for (const ReportComparison &other : report.fewer) {
      text +=
          formatv("{0}: {1}, ", other.devices,
                  other.fits ? formatTime(other.nanoseconds) : "no plan fits");
    }
    lines.emplace_back("fewer devices", text + "each with its own plan (" +
                                            workText(report.comparisonWork) +
                                            ")");
  }
  if (std::optional<ReportComparison> best = fasterOnFewer(report)) {
    double factor = double(report.runNanoseconds()) /
                    double(std::max<int64_t>(best->nanoseconds, 1));
    lines.emplace_back(
        "", formatv("this plan is slower than the one on {0} device{1}: "
                    "--devices {0} is predicted {2:F2} times as fast",
                    best->devices, best->devices == 1 ? "" : "s", factor)
                .str());
  }
  return lines;
}
