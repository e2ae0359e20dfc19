//===- RewritingText.cpp - What --rewrite did, as text --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldText.h"

#include "divisi/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstdlib>

using namespace llvm;
using namespace divisi;
using rewrite::ProgramRecord;

static std::string savingText(const rewrite::SavingRecord &saving) {
  int64_t less = saving.before - saving.after;
  std::string change;
  if (less != 0 && saving.before > 0) {
    change = formatv(", {0:F1} % {1}",
                     100.0 * double(std::abs(less)) / double(saving.before),
                     less > 0 ? "less" : "more");
  }
  return formatv("predicted to take {0} a run on {1} instead of {2}{3}",
                 formatTime(saving.after),
                 saving.devices == 1
                     ? std::string("one device")
                     : std::to_string(saving.devices) + " devices",
                 formatTime(saving.before), change);
}

/// `the cheapest where a device does one of 4 parts`
static std::string nameOf(const ProgramRecord &program) {
  switch (program.share) {
  case 0:
    return "without rewriting";
  case 1:
    return "the cheapest on one device";
  default:
    return "the cheapest where a device does one of " +
           std::to_string(program.share) + " parts";
  }
}

static std::string programText(const ProgramRecord &program) {
  std::string text = nameOf(program) + ": ";
  if (!program.nanoseconds) {
    return text + program.leftOut;
  }
  text += formatTime(*program.nanoseconds) + ", bound " +
          (program.lowerBound ? formatTime(*program.lowerBound) : "not known");
  if (program.isTaken) {
    text += ", taken";
  }
  if (!program.rules.empty()) {
    text += "; by " + join(program.rules, ", ");
  }
  return text;
}

/// Over which programs the answer is known to be the best.
static std::string boundText(ArrayRef<ProgramRecord> programs) {
  int64_t planned = count_if(programs, [](const ProgramRecord &program) {
    return program.nanoseconds.has_value();
  });
  std::string text = planned == 1 ? "one was planned"
                                  : std::to_string(planned) + " were planned";
  auto bound = rewrite::boundOverAll(programs.vec());
  if (planned > 1) {
    text += bound ? "; the lower bound over the declared strategies of all of "
                    "them, each on its grids, is " +
                        formatTime(*bound)
                  : "; of one of them no bound is known";
  }
  return text + "; of other programs nothing is proved";
}

std::vector<std::pair<std::string, std::string>>
divisi::rewritingLines(const Report &report) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const rewrite::RuleRecord &rule : report.rules) {
    lines.emplace_back("rule", rule.name + " of " + rule.file + " (" +
                                   rule.numericClass +
                                   "): " + rewrite::describe(rule));
  }
  if (report.saving) {
    lines.emplace_back("rewriting", savingText(*report.saving));
  }
  if (!report.programs.empty()) {
    lines.emplace_back("programs", boundText(report.programs));
    for (const ProgramRecord &program : report.programs) {
      lines.emplace_back("", programText(program));
    }
  }
  return lines;
}
