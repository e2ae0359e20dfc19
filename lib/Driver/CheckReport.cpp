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

void divisi::printRun(const CheckedRun &run, raw_ostream &os) {
  os << visibleLine(run.name) << (run.isEqual() ? ": equal\n" : ": differs\n");
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
    });
  }
  return json::Object{{"name", run.name},
                      {"equal", run.isEqual()},
                      {"outputs", std::move(outputs)}};
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
