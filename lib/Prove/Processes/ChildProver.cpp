//===- ChildProver.cpp - Proofs in child processes ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/ChildProver.h"

#include "divisi/Prove/ElementProver.h"
#include "lib/Prove/Processes/ChildProcess.h"

#include "divisi/Prove/Parallel.h"
#include "divisi/Support/Clock.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <sstream>

using namespace divisi;
using namespace divisi::rewrite;

/// Between the parts of an answer, and behind it: in no name or reason.
static constexpr char kPart = '\x1f', kEnd = '\n';

/// Proves all of them as `prove` proves one.
static ProofResult
proveEach(const std::function<Proof(const SymbolicRule &)> &prove,
          const Obligations &obligations) {
  ProofResult result;
  std::set<std::string> used;
  for (const SymbolicRule &each : obligations) {
    Proof proof = prove(each);
    if (!proof.isProved) {
      result.open = each.name + " (" + each.place + "): " + proof.why;
      result.axioms.assign(used.begin(), used.end());
      return result;
    }
    result.proved.push_back(result.proved.size());
    used.insert(proof.axioms.begin(), proof.axioms.end());
  }
  result.isProved = !obligations.empty();
  result.open = result.isProved ? "" : "there is nothing to prove it for";
  result.proved.clear();
  result.axioms.assign(used.begin(), used.end());
  return result;
}

ProofResult divisi::rewrite::proveAll(Prover &prover,
                                      const Obligations &obligations) {
  return proveEach([&](const SymbolicRule &each) { return prover.prove(each); },
                   obligations);
}

ProofResult divisi::rewrite::followAll(const std::vector<SymbolicRule> &axioms,
                                       const Obligations &obligations) {
  return proveEach(
      [&](const SymbolicRule &each) { return proveByElements(each, axioms); },
      obligations);
}

/// Says in `result` which obligations are proved at whose ranks all are.
static void followRanks(const std::vector<SymbolicRule> &axioms,
                        const Obligations &obligations, ProofResult &result) {
  std::map<Ranks, Obligations> all;
  for (const SymbolicRule &each : obligations) {
    all[each.ranks].push_back(each);
  }
  std::set<std::string> used;
  std::set<Ranks> proved;
  for (const auto &[ranks, some] : all) {
    ProofResult here = followAll(axioms, some);
    if (here.isProved) {
      proved.insert(ranks);
      used.insert(here.axioms.begin(), here.axioms.end());
    }
  }
  result.axioms.assign(used.begin(), used.end());
  result.proved.clear();
  for (size_t i = 0; i != obligations.size(); ++i) {
    if (proved.contains(obligations[i].ranks)) {
      result.proved.push_back(i);
    }
  }
}

ProofResult
divisi::rewrite::followClass(const std::vector<SymbolicRule> &axioms,
                             const Obligations &obligations) {
  ProofResult result = followAll(axioms, obligations);
  bool hasClass = !obligations.empty() && obligations[0].numericClass;
  if (result.isProved || !hasClass) {
    return result;
  }
  for (NumericClass each :
       {NumericClass::Reassociates, NumericClass::Discontinuous}) {
    if (each <= *obligations[0].numericClass) {
      continue;
    }
    Obligations weaker = obligations;
    for (SymbolicRule &one : weaker) {
      one.numericClass = each;
    }
    if (followAll(axioms, weaker).isProved) {
      result.weaker = each;
      return result;
    }
  }
  bool haveRanks = std::ranges::any_of(obligations, [&](const auto &each) {
    return each.ranks != obligations[0].ranks;
  });
  if (haveRanks) {
    followRanks(axioms, obligations, result);
  }
  return result;
}

static std::string printAnswer(const ProofResult &result) {
  std::string text = result.isProved ? "1" : "0";
  text += result.weaker ? std::to_string(int(*result.weaker)) : "";
  std::string reason = result.open;
  for (char &c : reason) {
    c = c == kPart || c == kEnd ? ' ' : c;
  }
  text += kPart + reason + kPart;
  for (size_t number : result.proved) {
    text += std::to_string(number) + ' ';
  }
  for (const std::string &axiom : result.axioms) {
    text += kPart + axiom;
  }
  return text;
}

/// What the child does: answers, from question `first` on.
static bool answer(int descriptor, const ChildWork &work, size_t count,
                   size_t first) {
  work.prepare();
  // The first answer says that it is ready.
  bool isRead = writeAll(descriptor, std::string(1, kEnd));
  for (size_t i = first; i != count && isRead; ++i) {
    isRead = writeAll(descriptor, printAnswer(work.answer(i)) + kEnd);
  }
  return isRead;
}

static constexpr const char *kTooLate =
    "the prover was stopped, for it took too long";
static constexpr const char *kEnded = "the prover's process has ended";

namespace {

/// A child that answers.
class Answerer {
public:
  Answerer(const ChildWork &work, size_t count, size_t first)
      : process_([&](int descriptor) {
          return answer(descriptor, work, count, first);
        }) {}

  /// The next line; nothing, and why in `why`, if there is none in time.
  std::optional<std::string> readLine(double seconds, std::string &why);

private:
  ChildProcess process_;
  std::string read_; ///< And not yet given.
};

} // namespace

std::optional<std::string> Answerer::readLine(double seconds,
                                              std::string &why) {
  double end = steadySeconds() + seconds;
  for (;;) {
    size_t at = read_.find(kEnd);
    if (at != std::string::npos) {
      std::string line = read_.substr(0, at);
      read_.erase(0, at + 1);
      return line;
    }
    pollfd state{process_.pipe(), POLLIN, 0};
    double left = end - steadySeconds();
    if (left <= 0) {
      why = kTooLate;
      return std::nullopt;
    }
    if (state.fd >= 0 && poll(&state, 1, int(left * 1000) + 1) <= 0) {
      continue;
    }
    if (state.fd < 0 || !process_.read(read_)) {
      why = kEnded;
      return std::nullopt;
    }
  }
}

static ProofResult parseAnswer(const std::string &line) {
  ProofResult result;
  result.isProved = line.starts_with("1");
  std::vector<std::string> parts;
  for (size_t at = 0; at != std::string::npos;) {
    size_t end = line.find(kPart, at);
    parts.push_back(line.substr(at, end - at));
    at = end == std::string::npos ? end : end + 1;
  }
  if (parts[0].size() > 1) {
    result.weaker = static_cast<NumericClass>(parts[0][1] - '0');
  }
  result.open = parts.size() > 1 ? parts[1] : "";
  std::istringstream numbers(parts.size() > 2 ? parts[2] : "");
  for (size_t number = 0; numbers >> number;) {
    result.proved.push_back(number);
  }
  if (parts.size() > 3) {
    result.axioms.assign(parts.begin() + 3, parts.end());
  }
  return result;
}

void divisi::rewrite::answerInChild(
    size_t count, const ChildWork &work, double seconds,
    const std::function<void(const ProofResult &)> &done) {
  for (size_t next = 0; next != count;) {
    Answerer child(work, count, next);
    std::string why;
    bool isAlive = child.readLine(seconds, why).has_value();
    for (bool isFirst = true; isFirst || (isAlive && next != count);
         isFirst = false) {
      double begin = steadySeconds();
      std::optional<std::string> line;
      if (isAlive) {
        line = child.readLine(seconds, why);
      }
      ProofResult result = line ? parseAnswer(*line) : ProofResult();
      if (!line) {
        result.open = why;
      }
      result.seconds = steadySeconds() - begin;
      isAlive = line.has_value();
      ++next;
      done(result);
    }
  }
}

static std::unique_ptr<Prover> proverOf(const std::vector<SymbolicRule> &axioms,
                                        unsigned work, unsigned secondWork) {
  auto prover = std::make_unique<Prover>(work, secondWork);
  for (const SymbolicRule &axiom : axioms) {
    prover->assume(axiom);
  }
  return prover;
}

namespace {

/// Provers of one rule: with few axioms, and with more.
class Stages {
public:
  Stages(const UsableAxioms &usable, size_t number, const ProofLimits &limits);

  /// By the first that can, from the one on that was needed before. Few axioms
  /// find soon what they find, so most of the work is for all of them.
  Proof prove(const SymbolicRule &rule);

private:
  /// Its prover is made when it is asked.
  struct Stage {
    std::vector<SymbolicRule> axioms;
    std::unique_ptr<Prover> prover;
  };

  const ProofLimits &limits_;
  std::vector<Stage> stages_;
  size_t first_ = 0;
};

} // namespace

Stages::Stages(const UsableAxioms &usable, size_t number,
               const ProofLimits &limits)
    : limits_(limits) {
  for (size_t steps : {size_t(0), size_t(1), kAllSteps}) {
    std::vector<SymbolicRule> axioms = usable(number, steps);
    if (stages_.empty() || stages_.back().axioms.size() != axioms.size()) {
      stages_.push_back({std::move(axioms), nullptr});
    }
  }
}

Proof Stages::prove(const SymbolicRule &rule) {
  constexpr unsigned share = 4;
  Proof proof;
  for (; first_ != stages_.size(); ++first_) {
    Stage &stage = stages_[first_];
    bool isLast = first_ + 1 == stages_.size();
    if (!stage.prover) {
      stage.prover =
          isLast ? proverOf(stage.axioms, limits_.work, limits_.secondWork)
                 : proverOf(stage.axioms, limits_.work / share, 0);
    }
    proof = stage.prover->prove(rule);
    if (proof.isProved) {
      break;
    }
  }
  return proof;
}

/// What is said of what did not end well, too.
static ProofResult resultOf(const Piece &piece) {
  ProofResult result;
  if (piece.text) {
    result = parseAnswer(*piece.text);
  } else {
    result.open = piece.isLate ? kTooLate : kEnded;
  }
  result.seconds = piece.seconds;
  return result;
}

/// The answer to the question whether the axioms make all tensors equal: proved
/// if they don't.
static ProofResult proveSense(Prover &prover) {
  constexpr size_t mostRank = 3;
  ProofResult result;
  for (size_t rank = 0; rank <= mostRank; ++rank) {
    Proof proof = prover.proveAllEqual(rank);
    if (!proof.isProved) {
      continue;
    }
    std::string names;
    for (const std::string &axiom : proof.axioms) {
      names += (names.empty() ? "" : ", ") + axiom;
    }
    result.open = "the axioms " + names + " say that all tensors of rank " +
                  std::to_string(rank) + " are equal";
    return result;
  }
  result.isProved = true;
  return result;
}

void divisi::rewrite::proveInChildren(
    const std::vector<SymbolicRule> &axioms, const UsableAxioms &usable,
    const std::vector<Obligations> &rules, const ProofLimits &limits,
    const std::function<void(const ProofResult &)> &done) {
  // The first is whether the others mean anything: with a part of the work,
  // for it is asked each time. A test asks it of all axioms with all of it.
  constexpr unsigned shareOfSense = 8;
  auto work = [&](size_t i) {
    if (i == 0) {
      return printAnswer(
          proveSense(*proverOf(axioms, limits.work / shareOfSense, 0)));
    }
    Stages stages(usable, i - 1, limits);
    return printAnswer(
        proveEach([&](const SymbolicRule &each) { return stages.prove(each); },
                  rules[i - 1]));
  };
  ProofResult sense;
  runInProcesses(rules.size() + 1, {limits.jobs, limits.seconds}, work,
                 [&](size_t i, const Piece &piece) {
                   ProofResult result = resultOf(piece);
                   if (i == 0) {
                     sense = result;
                     return;
                   }
                   if (!sense.isProved) {
                     sense.seconds = result.seconds;
                     result = sense;
                   }
                   done(result);
                 });
}

void divisi::rewrite::followElementsInChildren(
    const std::vector<SymbolicRule> &axioms,
    const std::vector<Obligations> &rules, const ProofLimits &limits,
    const std::function<void(const ProofResult &)> &done) {
  auto work = [&](size_t i) {
    return printAnswer(followClass(axioms, rules[i]));
  };
  runInProcesses(rules.size(), {limits.jobs, limits.seconds}, work,
                 [&](size_t i, const Piece &piece) { done(resultOf(piece)); });
}
