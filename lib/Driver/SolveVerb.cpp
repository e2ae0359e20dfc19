//===- SolveVerb.cpp - divisi solve ---------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solves a planning problem that stands in a file, or checks a solution that
// stands in another.
//
//===----------------------------------------------------------------------===//

#include "Console.h"
#include "LimitFlags.h"
#include "OutputFlag.h"
#include "Outputs.h"
#include "Process.h"
#include "SolveReport.h"
#include "Verbs.h"
#include "divisi/Search/ProblemIO.h"
#include "divisi/Support/Clock.h"
#include "divisi/Support/Interrupts.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/VisibleText.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <thread>

using namespace llvm;
using namespace divisi;

namespace {

class SolveVerb : public Verb {
public:
  SolveVerb() : Verb("solve") {}
  Status run() override;

private:
  Status checkFlags() const;
  Status checkFiles() const;
  Status checkWithout() const;
  search::Options solverOptions(const Interrupts &interrupts) const;
  Status solve();
  Status print(const SolveResult &result) const;
  Status explainNoAnswer(const search::Outcome &outcome) const;
  Status checkSolution() const;

  cl::list<std::string> inputs_{cl::Positional, cl::sub(command), cl::OneOrMore,
                                cl::desc("PROBLEM.json[.gz]|- "
                                         "[SOLUTION.json]")};
  cl::opt<bool> check_{"check", cl::sub(command), on(ActsOn::Answer),
                       cl::desc("check SOLUTION.json instead of solving")};
  OutputFlag output_{
      command, "SOLUTION.json",
      cl::desc("the file for the best answer, written from the first one on; "
               "stdout (-), or another pipe, gets the last one")};
  LimitFlags limits_{command, ActsOn::Answer, search::Options().work};
  cl::opt<int64_t> threads_{
      "threads",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("N"),
      cl::init(0),
      cl::desc("number of threads (default: 2, if there are as many cores); "
               "the answer does not depend on it")};
  cl::opt<uint64_t> seed_{"seed",
                          cl::sub(command),
                          on(ActsOn::Answer),
                          cl::value_desc("SEED"),
                          cl::init(0),
                          cl::desc("the seed of random numbers")};
  cl::opt<std::string> solverName_{
      "solver",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("NAME"),
      cl::init(std::string(search::solvers().front().name)),
      cl::desc("the solver; an unknown name lists them")};
  cl::list<std::string> without_{
      "without",
      cl::sub(command),
      on(ActsOn::Answer),
      cl::value_desc("INGREDIENT,..."),
      cl::CommaSeparated,
      cl::desc("leave ingredients out of the default solver, to measure what "
               "they add; an unknown name lists them")};
  cl::opt<bool> json_{"json", cl::sub(command), on(ActsOn::Answer),
                      cl::desc("as JSON")};
  cl::opt<bool> quiet_{"quiet", cl::sub(command), on(ActsOn::Answer),
                       cl::desc("do not print progress")};

  double start_ = 0; ///< Of the process, on the steady clock.
};

} // namespace

//===----------------------------------------------------------------------===//
// Flags and files
//===----------------------------------------------------------------------===//

namespace {
/// What --without can leave out.
struct Ingredient {
  StringRef name;
  bool search::Options::*isUsed;
};
} // namespace

static constexpr Ingredient kIngredients[] = {
    {"neighbourhoods", &search::Options::neighbourhoods},
    {"branching", &search::Options::branching},
};

static const Ingredient *findIngredient(StringRef name) {
  const Ingredient *it = llvm::find_if(
      kIngredients, [&](const Ingredient &i) { return i.name == name; });
  return it == std::end(kIngredients) ? nullptr : it;
}

Status SolveVerb::checkWithout() const {
  for (const std::string &name : without_) {
    if (!findIngredient(name)) {
      std::string list;
      for (const Ingredient &ingredient : kIngredients) {
        list += (list.empty() ? "" : ", ") + ingredient.name.str();
      }
      return Status(ExitCode::Usage, "--without names an unknown ingredient '" +
                                         name + "', expected some of " + list);
    }
  }
  StringRef composed = search::solvers().front().name;
  if (!without_.empty() && solverName_ != composed) {
    return Status(ExitCode::Usage,
                  "--without is for --solver " + composed.str() + ", got '" +
                      solverName_ + "', which has no such ingredients");
  }
  return Status();
}

static std::string listSolvers() {
  std::string list;
  for (const search::Solver &solver : search::solvers()) {
    list += "\n  " + std::string(solver.name) + ": " +
            std::string(solver.description);
  }
  return list;
}

/// What cannot be written later, or would be lost, fails now, before the
/// solver's minutes.
Status SolveVerb::checkFiles() const {
  OutputCheck files;
  for (const std::string &input : inputs_) {
    files.addInput("the problem", input);
  }
  if (output_.empty()) {
    return Status();
  }
  if (isStdout(output_) && json_) {
    return Status(ExitCode::Usage,
                  "-o - and --json both write to stdout; name a file for one");
  }
  return files.addOutput("-o", output_);
}

/// What contradicts itself, before any file is read.
Status SolveVerb::checkFlags() const {
  if (check_ && inputs_.size() != 2) {
    return Status(ExitCode::Usage,
                  "--check takes two files, PROBLEM.json and SOLUTION.json, "
                  "got " +
                      std::to_string(inputs_.size()));
  }
  if (!check_ && inputs_.size() != 1) {
    return Status(ExitCode::Usage,
                  "solve takes one file, PROBLEM.json, got " +
                      std::to_string(inputs_.size()) +
                      "; a solution is checked by --check, written by -o");
  }
  if (check_ && !output_.empty()) {
    return Status(ExitCode::Usage, "--check writes nothing; -o is for solving");
  }
  if (Status status = limits_.given().check(); !status.isOk()) {
    return status;
  }
  constexpr int64_t kMostThreads = 1024;
  if (threads_.getNumOccurrences() &&
      (threads_ < 1 || threads_ > kMostThreads)) {
    return Status(ExitCode::Usage, "--threads is " + std::to_string(threads_) +
                                       ", expected 1 to " +
                                       std::to_string(kMostThreads));
  }
  if (!search::findSolver(solverName_)) {
    return Status(ExitCode::Usage, "unknown solver '" + solverName_ +
                                       "', expected one of" + listSolvers());
  }
  if (Status status = checkWithout(); !status.isOk()) {
    return status;
  }
  return checkFiles();
}

search::Options SolveVerb::solverOptions(const Interrupts &interrupts) const {
  search::Options options;
  options.seed = seed_;
  options.work = limits_.given().workOr(options.work);
  options.timeLimit = limits_.given().seconds;
  for (const std::string &name : without_) {
    options.*findIngredient(name)->isUsed = false;
  }
  options.start = start_;
  options.threads =
      threads_.getNumOccurrences()
          ? unsigned(threads_)
          : std::clamp(std::thread::hardware_concurrency(), 1u, 2u);
  options.stop = &interrupts.raised();
  return options;
}

//===----------------------------------------------------------------------===//
// Solve
//===----------------------------------------------------------------------===//

/// A message and the exit code for an outcome that is no answer.
Status SolveVerb::explainNoAnswer(const search::Outcome &outcome) const {
  std::string text =
      (inputs_.front() == "-" ? "stdin" : inputs_.front()) + ": ";
  if (outcome.verdict == search::Verdict::Infeasible) {
    text += "no assignment exists: " + outcome.message;
    if (outcome.limitEnough && outcome.limitAtLeast == outcome.limitEnough) {
      text += "; the smallest limit that would do is " +
              std::to_string(*outcome.limitEnough);
    } else if (outcome.limitAtLeast) {
      text += "; no limit below " + std::to_string(*outcome.limitAtLeast) +
              " would do";
      if (outcome.limitEnough) {
        text += ", and " + std::to_string(*outcome.limitEnough) + " would";
      }
    }
    return Status(ExitCode::Infeasible, text);
  }
  text += outcome.message.empty() ? "no assignment was found" : outcome.message;
  switch (outcome.stopped) {
  case search::Stopped::Interrupted:
    text += "; interrupted before the first answer";
    break;
  case search::Stopped::Time:
    text += "; one may exist: a larger --time-limit may find it";
    break;
  case search::Stopped::Work:
    text += "; one may exist: a larger --work-limit may find it";
    break;
  case search::Stopped::Finished:
    text += "; one may exist: another --solver or --seed may find it";
    break;
  }
  return Status(ExitCode::NoPlan, text);
}

/// The trace as the file keeps it. Its seconds differ from run to run, and so
/// does a run that a clock or a person ended; others give equal bytes.
static std::vector<search::TraceEntry>
withoutSeconds(std::vector<search::TraceEntry> trace) {
  for (search::TraceEntry &entry : trace) {
    entry.seconds.reset();
  }
  return trace;
}

Status SolveVerb::print(const SolveResult &result) const {
  bool solved = result.outcome.verdict == search::Verdict::Solved;
  if (json_) {
    printResultJSON(result, jsonOut());
  } else if (solved) {
    // The answer itself goes to stdout there.
    printResult(result, isStdout(output_) ? textErr() : textOut());
  }
  return solved ? Status() : explainNoAnswer(result.outcome);
}

/// The answer is written before the last line names it. What is printed and
/// written has passed check().
Status SolveVerb::solve() {
  Interrupts interrupts;
  divisi::Expected<search::Problem> problem =
      search::readProblemFile(inputs_.front());
  if (!problem) {
    return problem.status();
  }
  search::SolutionFile file;
  file.problem = problem->name;
  file.solver = solverName_;
  file.seed = seed_;
  std::optional<AnswerKeeper> writer;
  if (!output_.empty()) {
    writer.emplace(output_, *problem);
  }
  SolveProgress progress(file, writer ? &*writer : nullptr, quiet_);
  search::Options options = solverOptions(interrupts);
  options.onProgress = [&](const search::Progress &line) { progress(line); };

  search::Outcome outcome =
      search::findSolver(solverName_)->solve(*problem, options);
  double seconds = steadySeconds() - start_;
  bool solved = outcome.verdict == search::Verdict::Solved;
  if (solved) {
    if (auto wrong = search::check(*problem, outcome.solution)) {
      return Status(ExitCode::Internal, "solver '" + solverName_ +
                                            "' gave a wrong answer: " + *wrong);
    }
  }
  progress.end(outcome, seconds);
  file.stopped = search::stoppedName(outcome.stopped);
  bool isTimed =
      options.timeLimit || outcome.stopped == search::Stopped::Interrupted;
  file.trace = isTimed ? progress.trace() : withoutSeconds(progress.trace());
  file.solution = std::move(outcome.solution);
  if (solved && writer) {
    if (Status failed = writer->finish(file); !failed.isOk()) {
      return failed;
    }
  }
  progress.endLine();
  if (solved && writer && !quiet_) {
    tellWritten(output_,
                "answer of cost " + search::toString(file.solution.cost));
  }
  return print({*problem, file, outcome, progress.trace(), options.threads,
                seconds, progress.firstAnswer()});
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

Status SolveVerb::checkSolution() const {
  divisi::Expected<search::Problem> problem =
      search::readProblemFile(inputs_[0]);
  if (!problem) {
    return problem.status();
  }
  auto file = search::readSolutionFile(inputs_[1]);
  if (!file) {
    return file.status();
  }
  if (auto wrong = search::check(*problem, file->solution)) {
    return Status(ExitCode::Differs, inputs_[1] + ": refused: " + *wrong);
  }
  if (json_) {
    printVerifiedJSON(*problem, file->solution, jsonOut());
  } else {
    textOut() << visibleLine(inputs_[1]) << ": accepted\n";
    printVerified(*problem, file->solution, textOut());
  }
  return Status();
}

Status SolveVerb::run() {
  start_ = processStart();
  if (Status status = checkFlags(); !status.isOk()) {
    return status;
  }
  return check_ ? checkSolution() : solve();
}

std::unique_ptr<Verb> divisi::makeSolveVerb() {
  return std::make_unique<SolveVerb>();
}
