//===- CheckReport.cpp - What check says of outputs -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckReport.h"

#include "divisi/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace llvm;
using namespace divisi;

bool CheckedRun::isEqual() const {
  return all_of(outputs, [](const CheckedOutput &output) {
    return output.comparison.equal;
  });
}

static void printRules(const std::vector<rewrite::RuleRecord> &rules,
                       raw_ostream &os) {
  if (rules.empty()) {
    os << "  no rule was applied\n";
  }
  for (const rewrite::RuleRecord &rule : rules) {
    os << "  rule " << visibleLine(rule.name) << " of "
       << visibleLine(rule.file) << " (" << visibleLine(rule.numericClass)
       << ") applied " << rule.times << (rule.times == 1 ? " time" : " times")
       << "\n";
  }
}

void divisi::printRun(const CheckedRun &run, raw_ostream &os) {
  os << visibleLine(run.name) << (run.isEqual() ? ": equal\n" : ": differs\n");
  if (run.rules) {
    printRules(*run.rules, os);
  }
  for (const auto &[value, comparison] : run.outputs) {
    os << "  " << visibleLine(value.name) << "  "
       << rt::describe(value.type, value.dims)
       << format("  largest error %.3g, allowed %.3g", comparison.error,
                 comparison.allowed);
    if (comparison.toleranceOf) {
      os << " (computed in " << rt::stringify(*comparison.toleranceOf) << ")";
    }
    if (comparison.error != 0) {
      os << ", at [";
      interleaveComma(comparison.worst, os);
      os << "]";
    }
    if (comparison.normError) {
      os << format(
          ": %lld beyond it, as codes may differ: the error is %.3g of "
          "the norm, allowed 0.05",
          static_cast<long long>(comparison.wrong), *comparison.normError);
    }
    if (!comparison.equal) {
      os << ": " << comparison.wrong << " of " << rt::numElements(value.dims)
         << " differ";
    }
    os << "\n";
  }
}

/// JSON has no infinity, and nothing that is no number.
static json::Value number(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(nullptr);
}

json::Value divisi::toJSON(const CheckedRun &run) {
  json::Array outputs;
  for (const auto &[value, comparison] : run.outputs) {
    outputs.push_back(json::Object{
        {"name", value.name},
        {"type", std::string(rt::stringify(value.type))},
        {"shape", json::Array(value.dims)},
        {"equal", comparison.equal},
        {"different_elements", comparison.wrong},
        {"largest_error", number(comparison.error)},
        {"allowed", number(comparison.allowed)},
        {"computed_in",
         comparison.toleranceOf
             ? json::Value(std::string(rt::stringify(*comparison.toleranceOf)))
             : json::Value(nullptr)},
        {"at", json::Array(comparison.worst)},
        {"norm_error", comparison.normError ? number(*comparison.normError)
                                            : json::Value(nullptr)},
    });
  }
  json::Object object{{"name", run.name},
                      {"equal", run.isEqual()},
                      {"outputs", std::move(outputs)}};
  if (run.rules) {
    json::Array rules;
    for (const rewrite::RuleRecord &rule : *run.rules) {
      rules.push_back(json::Object{{"name", rule.name},
                                   {"file", rule.file},
                                   {"class", rule.numericClass},
                                   {"times", rule.times}});
    }
    object["rules"] = std::move(rules);
  }
  return object;
}

/// All outputs are named, so that the message shows which are right.
Status divisi::toStatus(const CheckedRun &run) {
  if (run.isEqual()) {
    return Status();
  }
  std::string differences;
  for (const auto &[value, comparison] : run.outputs) {
    if (!comparison.equal) {
      differences +=
          "\n  " + visibleLine(value.name + ": " + comparison.message);
    }
  }
  return Status(ExitCode::Differs, run.name + " differs:" + differences);
}
