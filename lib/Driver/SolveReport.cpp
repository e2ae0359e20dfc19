//===- SolveReport.cpp - The report of divisi solve -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SolveReport.h"

#include "Process.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace divisi;
using search::toString;

static constexpr int kSchemaVersion = 1;
static constexpr StringLiteral kGapOf = "the declared strategies";

/// Why, for people.
static StringRef stoppedReason(search::Stopped stopped) {
  static constexpr StringLiteral kReasons[] = {
      "nothing is left to try",
      "work budget used up",
      "the time limit: another run may end elsewhere",
      "interrupted: another run may end elsewhere",
  };
  return kReasons[static_cast<size_t>(stopped)];
}

static bool isOptimal(const search::Solution &solution) {
  return solution.cost == solution.lowerBound;
}

/// The lines that hold of a solution, however it came about.
static void printSolution(const search::Problem &problem,
                          const search::Solution &solution, raw_ostream &os) {
  os << "cost   " << toString(solution.cost) << "\n";
  os << "peak   " << toString(solution.peak);
  if (problem.usageLimit) {
    os << " of " << *problem.usageLimit;
  } else {
    os << ", no limit";
  }
  os << ", at time " << solution.peakTime << "\n";
  os << "bound  " << toString(solution.lowerBound) << "\n";
  os << formatv("gap    {0:P4}, relative to {1}",
                search::relativeGap(solution.cost, solution.lowerBound),
                kGapOf);
  os << (isOptimal(solution) ? ": proved optimal\n" : "\n");
}

void divisi::printResult(const SolveResult &result, raw_ostream &os) {
  const search::Solution &solution = result.file.solution;
  printSolution(result.problem, solution, os);
  bool proved = isOptimal(solution) &&
                result.outcome.stopped == search::Stopped::Finished;
  os << "ended  "
     << (proved ? "the proof is complete"
                : stoppedReason(result.outcome.stopped))
     << "\n";
  os << formatv("time   {0:F2} s", result.seconds);
  if (result.firstAnswer) {
    os << formatv(", first answer after {0:F2} s", *result.firstAnswer);
  }
  os << formatv(", {0:F2}e9 matrix entries, {1} MB\n",
                double(result.outcome.work) * 1e-9, peakMemory() / 1'000'000);
}

void divisi::printVerified(const search::Problem &problem,
                           const search::Solution &solution, raw_ostream &os) {
  printSolution(problem, solution, os);
  const search::Certificate &certificate = solution.certificate;
  if (certificate.tree.empty()) {
    os << "proof  none: the bound is the sum of the least costs\n";
  } else {
    os << formatv("proof  {0} reduction steps, {1} bounding nodes\n",
                  certificate.deductions.size(), certificate.tree.size());
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

/// json::OStream knows 64 bits.
class ExactStream : public json::OStream {
public:
  using OStream::OStream;

  void wide(StringRef key, search::Wide value) { raw(key, toString(value)); }
  void raw(StringRef key, const Twine &token) {
    attributeBegin(key);
    rawValue(token.str());
    attributeEnd();
  }
  template <typename T>
  void optional(StringRef key, const std::optional<T> &value) {
    if (value) {
      wide(key, *value);
    }
  }
  void seconds(StringRef key, double value) {
    raw(key, formatv("{0:F3}", value).str());
  }
  void string(StringRef key, std::string_view value) {
    attribute(key, json::fixUTF8(value));
  }
};

} // namespace

static void writeSolutionFacts(ExactStream &out, const search::Problem &problem,
                               const search::Solution &solution) {
  out.wide("cost", solution.cost);
  out.wide("peak", solution.peak);
  out.attribute("peak_time", solution.peakTime);
  out.wide("bound", solution.lowerBound);
  out.attribute("gap", search::relativeGap(solution.cost, solution.lowerBound));
  out.attribute("gap_of", kGapOf);
  out.attribute("optimal", isOptimal(solution));
}

static void writeTrace(ExactStream &out,
                       const std::vector<search::TraceEntry> &trace) {
  out.attributeArray("trace", [&] {
    for (const search::TraceEntry &entry : trace) {
      out.object([&] {
        if (entry.seconds) {
          out.seconds("seconds", *entry.seconds);
        }
        out.attribute("work", entry.work);
        out.optional("cost", entry.cost);
        out.optional("bound", entry.lowerBound);
        out.string("by", entry.by);
      });
    }
  });
}

static StringRef verdictName(search::Verdict verdict) {
  static constexpr StringLiteral kNames[] = {"solved", "infeasible",
                                             "not_found"};
  return kNames[static_cast<size_t>(verdict)];
}

/// Keys of an answer are there only if there is one.
void divisi::printResultJSON(const SolveResult &result, raw_ostream &os) {
  const search::Outcome &outcome = result.outcome;
  ExactStream out(os);
  out.object([&] {
    out.attribute("schema_version", kSchemaVersion);
    out.string("problem", result.problem.name);
    out.attribute("status", verdictName(outcome.verdict));
    out.string("stopped", search::stoppedName(outcome.stopped));
    out.string("solver", result.file.solver);
    out.raw("seed", Twine(result.file.seed));
    out.attribute("threads", result.threads);
    out.optional("limit", result.problem.usageLimit);
    if (outcome.verdict == search::Verdict::Solved) {
      writeSolutionFacts(out, result.problem, result.file.solution);
    } else {
      out.string("message", outcome.message);
      out.optional("time", outcome.time);
      out.optional("limit_at_least", outcome.limitAtLeast);
      out.optional("limit_enough", outcome.limitEnough);
    }
    if (result.firstAnswer) {
      out.seconds("first_answer_seconds", *result.firstAnswer);
    }
    out.seconds("seconds", result.seconds);
    out.attribute("work", outcome.work);
    out.attribute("peak_memory_bytes", peakMemory());
    writeTrace(out, result.trace);
  });
  os << "\n";
}

void divisi::printVerifiedJSON(const search::Problem &problem,
                               const search::Solution &solution,
                               raw_ostream &os) {
  ExactStream out(os);
  out.object([&] {
    out.attribute("schema_version", kSchemaVersion);
    out.string("problem", problem.name);
    out.attribute("accepted", true);
    out.optional("limit", problem.usageLimit);
    writeSolutionFacts(out, problem, solution);
    out.raw("certificate_steps", Twine(solution.certificate.deductions.size()));
    out.raw("certificate_nodes", Twine(solution.certificate.tree.size()));
  });
  os << "\n";
}
