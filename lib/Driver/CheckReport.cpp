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
  return all_of(outputs,
                [](const CheckedOutput &output) { return output.isEqual(); });
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

static void printComparison(const CheckedOutput &output, raw_ostream &os) {
  const Comparison &comparison = output.comparison;
  os << format("  largest error %.3g, allowed %.3g", comparison.error,
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
    os << format(": %lld beyond it, as codes may differ: the error is %.3g of "
                 "the norm, allowed 0.05",
                 static_cast<long long>(comparison.wrong),
                 *comparison.normError);
  }
  if (!comparison.equal) {
    os << ": " << comparison.wrong << " of "
       << rt::numElements(output.value.dims) << " differ";
  }
}

/// `0.0123 of the norm of float.onnx, 0.012 expected, 0.025 allowed`
static std::string textOf(const ErrorAgainst &against, rt::DType type) {
  std::string text;
  raw_string_ostream(text)
      << format("the error is %.3g of ", against.error)
      << (rt::isFloatType(type) ? "the norm" : "the elements") << " of "
      << visibleLine(against.model)
      << format("; that of what is expected %.3g, allowed %.3g",
                against.expected, against.allowed);
  return text;
}

void divisi::printRun(const CheckedRun &run, raw_ostream &os) {
  os << visibleLine(run.name) << (run.isEqual() ? ": equal\n" : ": differs\n");
  if (run.rules) {
    printRules(*run.rules, os);
  }
  for (const CheckedOutput &output : run.outputs) {
    const rt::ValueInfo &value = output.value;
    os << "  " << visibleLine(value.name) << "  "
       << rt::describe(value.type, value.dims);
    if (output.against) {
      os << "  " << textOf(*output.against, value.type);
    } else {
      printComparison(output, os);
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
  for (const auto &[value, comparison, against] : run.outputs) {
    json::Object output{
        {"name", value.name},
        {"type", std::string(rt::stringify(value.type))},
        {"shape", json::Array(value.dims)},
        {"equal", against ? against->isAllowed() : comparison.equal},
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
    };
    if (against) {
      output["against"] =
          json::Object{{"model", against->model},
                       {"error", number(against->error)},
                       {"expected_error", number(against->expected)},
                       {"allowed", number(against->allowed)}};
    }
    outputs.push_back(std::move(output));
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
  for (const CheckedOutput &output : run.outputs) {
    if (!output.isEqual()) {
      differences +=
          "\n  " + visibleLine(output.value.name + ": " +
                               (output.against
                                    ? textOf(*output.against, output.value.type)
                                    : output.comparison.message));
    }
  }
  return Status(ExitCode::Differs, run.name + " differs:" + differences);
}
