//===- ChildProver.cpp - Proofs in a process of their own -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/ChildProver.h"

#include "lib/Rewrite/Prove/ChildProcess.h"

#include "divisi/Rewrite/Parallel.h"
#include "divisi/Support/Clock.h"

#include <memory>
#include <optional>
#include <poll.h>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

/// Between the parts of an answer, and behind it: in no name or reason.
static constexpr char kPart = '\x1f', kEnd = '\n';

ProofResult divisi::rewrite::proveAll(Prover &prover,
                                      const Obligations &obligations) {
  ProofResult result;
  std::set<std::string> used;
  for (const SymbolicRule &each : obligations) {
    Proof proof = prover.prove(each);
    if (!proof.isProved) {
      result.open = each.name + " (" + each.place + "): " + proof.why;
      return result;
    }
    used.insert(proof.axioms.begin(), proof.axioms.end());
  }
  result.isProved = !obligations.empty();
  result.open = result.isProved ? "" : "there is nothing to prove it for";
  result.axioms.assign(used.begin(), used.end());
  return result;
}

/// The rank at which the axioms say that all tensors are equal, or -1.
static int rankOfNonsense(Prover &prover) {
  constexpr int most = 3;
  for (int rank = 0; rank <= most; ++rank) {
    if (prover.proveAllEqual(size_t(rank)).isProved) {
      return rank;
    }
  }
  return -1;
}

static std::string printAnswer(const ProofResult &result) {
  std::string text = result.isProved ? "1" : "0";
  std::string reason = result.open;
  for (char &c : reason) {
    c = c == kPart || c == kEnd ? ' ' : c;
  }
  text += kPart + reason;
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
  result.open = parts.size() > 1 ? parts[1] : "";
  if (parts.size() > 2) {
    result.axioms.assign(parts.begin() + 2, parts.end());
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
                                        const ProofLimits &limits) {
  auto prover = std::make_unique<Prover>(limits.work, limits.secondWork);
  for (const SymbolicRule &axiom : axioms) {
    prover->assume(axiom);
  }
  return prover;
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

/// The answer to the question whether the axioms are nonsense: proved if not.
static ProofResult proveSense(Prover &prover) {
  ProofResult result;
  int rank = rankOfNonsense(prover);
  result.isProved = rank < 0;
  result.open = result.isProved ? ""
                                : "the axioms say that all tensors of rank " +
                                      std::to_string(rank) + " are equal";
  return result;
}

void divisi::rewrite::proveInChildren(
    const std::vector<SymbolicRule> &axioms, const UsableAxioms &usable,
    const std::vector<Obligations> &rules, const ProofLimits &limits,
    const std::function<void(const ProofResult &)> &done) {
  ProofLimits once = limits;
  once.secondWork = 0;
  // The first is whether the others mean anything.
  auto work = [&](size_t i) {
    return printAnswer(
        i == 0
            ? proveSense(*proverOf(axioms, once))
            : proveAll(*proverOf(usable(i - 1), limits), rules[i - 1]));
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
