//===- ChildProver.cpp - Proofs in a process of their own -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/ChildProver.h"

#include "divisi/Support/Clock.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

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

static bool writeAll(int descriptor, const std::string &text) {
  for (size_t at = 0; at != text.size();) {
    ssize_t count = write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    at += size_t(count);
  }
  return true;
}

static std::string print(const ProofResult &result) {
  std::string text = result.isProved ? "1" : "0";
  std::string reason = result.open;
  for (char &c : reason) {
    c = c == kPart || c == kEnd ? ' ' : c;
  }
  text += kPart + reason;
  for (const std::string &axiom : result.axioms) {
    text += kPart + axiom;
  }
  return text + kEnd;
}

/// What the child does: answers, from question `first` on.
static void answer(int descriptor, const ChildWork &work, size_t count,
                   size_t first) {
  work.prepare();
  // The first answer says that it is ready.
  if (!writeAll(descriptor, std::string(1, kEnd))) {
    return;
  }
  for (size_t i = first; i != count; ++i) {
    if (!writeAll(descriptor, print(work.answer(i)))) {
      return;
    }
  }
}

namespace {

/// A child and the pipe from it.
class Child {
public:
  Child(const ChildWork &work, size_t count, size_t first) {
    int ends[2];
    if (pipe(ends) != 0) {
      return;
    }
    process_ = fork();
    if (process_ == 0) {
      close(ends[0]);
      answer(ends[1], work, count, first);
      _exit(0);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    if (pipe_ >= 0) {
      close(pipe_);
    }
  }

  /// The next line; nothing, and why in `why`, if there is none in time.
  std::optional<std::string> readLine(double seconds, std::string &why);

private:
  pid_t process_ = -1;
  int pipe_ = -1;
  std::string read_; ///< And not yet given.
};

} // namespace

std::optional<std::string> Child::readLine(double seconds, std::string &why) {
  double end = steadySeconds() + seconds;
  for (;;) {
    size_t at = read_.find(kEnd);
    if (at != std::string::npos) {
      std::string line = read_.substr(0, at);
      read_.erase(0, at + 1);
      return line;
    }
    pollfd state{pipe_, POLLIN, 0};
    double left = end - steadySeconds();
    if (pipe_ < 0 || left <= 0) {
      why = "the prover was stopped, for it took too long";
      return std::nullopt;
    }
    int ready = poll(&state, 1, int(left * 1000) + 1);
    if (ready <= 0) {
      continue;
    }
    char buffer[4096];
    ssize_t count = ::read(pipe_, buffer, sizeof(buffer));
    if (count == 0 || (count < 0 && errno != EINTR)) {
      why = "the prover's process has ended";
      return std::nullopt;
    }
    read_.append(buffer, count > 0 ? size_t(count) : 0);
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
    Child child(work, count, next);
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

void divisi::rewrite::proveInChild(
    const std::vector<SymbolicRule> &axioms, const UsableAxioms &usable,
    const std::vector<Obligations> &rules, const ProofLimits &limits,
    const std::function<void(const ProofResult &)> &done) {
  int nonsense = -1;
  ProofLimits once = limits;
  once.secondWork = 0;
  ChildWork work;
  work.prepare = [&] { nonsense = rankOfNonsense(*proverOf(axioms, once)); };
  work.answer = [&](size_t i) {
    if (nonsense < 0) {
      return proveAll(*proverOf(usable(rules[i]), limits), rules[i]);
    }
    ProofResult result;
    result.open = "the axioms say that all tensors of rank " +
                  std::to_string(nonsense) + " are equal";
    return result;
  };
  answerInChild(rules.size(), work, limits.seconds, done);
}
