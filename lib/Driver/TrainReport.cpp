//===- TrainReport.cpp - What a training shows of its steps ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainReport.h"

#include "Console.h"
#include "Outputs.h"
#include "divisi/Support/Clock.h"
#include "divisi/Support/JsonOutput.h"
#include "divisi/Support/Units.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

#include <cmath>

using namespace llvm;
using namespace divisi;

TrainReport::TrainReport(Run run, bool isQuiet)
    : run_(run), isQuiet_(isQuiet),
      line_(ProgressLine::Elsewhere::Lines, isQuiet || run.asJson),
      begin_(steadySeconds()) {}

std::string divisi::nonfiniteText(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/// Numbers that are not finite have no name in JSON.
static void writeNumber(std::string &out, double value) {
  if (std::isfinite(value)) {
    writeJsonDouble(out, value);
  } else {
    out += "null";
  }
}

void TrainReport::writeJson(const StepResult &result) const {
  std::string text = "{\"step\": " + std::to_string(result.step);
  text += ", \"loss\": ";
  writeNumber(text, result.loss);
  for (const auto &[name, value] : result.numbers) {
    if (name != "loss") {
      text += ", ";
      writeJsonString(text, name);
      text += ": ";
      writeNumber(text, value);
    }
  }
  if (result.isSkipped) {
    text += ", \"skipped\": true";
  }
  text += ", \"epoch\": " + std::to_string(result.epoch);
  text += ", \"seconds\": ";
  writeNumber(text, result.seconds);
  text += ", \"samples_per_second\": ";
  writeNumber(text, double(result.samples) / result.seconds);
  text += ", \"bytes_per_device\": " + std::to_string(run_.memoryBytes);
  jsonOut() << text << "}\n";
  flushConsole(); // who reads it may end the process
}

/// `[#####     ] `
static std::string bar(double part) {
  constexpr int width = 20;
  auto full = size_t(std::lround(part * width));
  return "[" + std::string(full, '#') + std::string(width - full, ' ') + "] ";
}

std::string TrainReport::describe(const StepResult &result) const {
  double rate = double(samples_) / (steadySeconds() - begin_);
  std::string text = formatv(
      "step {0}/{1}  loss {2}  {3}  {4} per device", result.step, run_.last,
      formatv("{0:F4}", result.loss), formatAmount(rate, "samples/s"),
      formatBytes(double(run_.memoryBytes)));
  bool isShown = sys::Process::StandardErrIsDisplayed();
  return (isShown ? bar(double(result.step) / double(run_.last)) : "") + text;
}

void TrainReport::add(const StepResult &result) {
  samples_ += result.samples;
  latest_.step = result.step;
  undone_ = result.isSkipped ? undone_ + 1 : 0;
  if (!result.isSkipped) {
    first_ = first_.value_or(result.loss);
    latest_ = result;
  }
  if (isQuiet_) {
    return;
  }
  if (result.isSkipped) {
    line_.clear();
    sayWarning() << "step " << result.step << " is undone: " << result.reason;
  }
  if (run_.asJson) {
    writeJson(result);
  }
  line_.show(steadySeconds() - begin_, describe(result),
             /*atOnce=*/result.step == run_.last);
}

void TrainReport::end() {
  line_.end();
  if (!isQuiet_ && undone_ > 0) {
    sayWarning() << "nothing is trained behind step " << latest_.step - undone_
                 << ": undone at the end, one by one: "
                 << countText(undone_, "step");
  }
  if (isQuiet_ || latest_.step != run_.last || !first_) {
    return;
  }
  double seconds = steadySeconds() - begin_;
  Message("") << formatv(
      "trained {0} steps in {1}: loss {2:F4} -> {3:F4}, {4}",
      run_.last - run_.done, formatTime(int64_t(seconds * 1e9)), *first_,
      latest_.loss, formatAmount(double(samples_) / seconds, "samples/s"));
}
