//===- Parallel.cpp - Work in child processes -----------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Prove/Parallel.h"

#include "lib/Prove/Processes/ChildProcess.h"

#include "divisi/Support/Clock.h"

#include <algorithm>
#include <list>
#include <map>
#include <poll.h>
#include <vector>

using namespace divisi;
using namespace divisi::rewrite;

namespace {

/// A piece of work that is being done.
struct Running {
  Running(size_t number, const std::function<std::string(size_t)> &work)
      : number(number), process([&](int descriptor) {
          return writeAll(descriptor, work(number));
        }) {}

  size_t number;
  double begin = steadySeconds();
  ChildProcess process;
  std::string text;
};

/// All those that are being done, and what came of others.
class Pool {
public:
  Pool(double seconds, const std::function<void(size_t, const Piece &)> &done)
      : seconds_(seconds), done_(done) {}

  size_t size() const { return running_.size(); }
  void start(size_t number, const std::function<std::string(size_t)> &work) {
    running_.emplace_back(number, work);
  }
  /// Waits until one has written or ended, or its time is up.
  void wait();

private:
  /// How long poll() may wait: until the time of the first is up.
  int milliseconds() const;
  void tell(Running &running, Piece piece);

  double seconds_;
  const std::function<void(size_t, const Piece &)> &done_;
  std::list<Running> running_;
  std::map<size_t, Piece> waiting_; ///< For those before them.
  size_t told_ = 0;
};

} // namespace

int Pool::milliseconds() const {
  constexpr double most = 1e6;
  double left = most;
  for (const Running &each : running_) {
    left = std::min(left, each.begin + seconds_ - steadySeconds());
  }
  return left <= 0 ? 0 : int(left * 1000) + 1;
}

void Pool::tell(Running &running, Piece piece) {
  piece.seconds = steadySeconds() - running.begin;
  waiting_.emplace(running.number, std::move(piece));
  while (!waiting_.empty() && waiting_.begin()->first == told_) {
    done_(told_++, waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
  }
}

void Pool::wait() {
  std::vector<pollfd> states;
  for (const Running &each : running_) {
    states.push_back({each.process.pipe(), POLLIN, 0});
  }
  // Without a process there is nothing to wait for.
  bool isAny = std::any_of(states.begin(), states.end(),
                           [](const pollfd &state) { return state.fd < 0; });
  poll(states.data(), states.size(), isAny ? 0 : milliseconds());
  size_t i = 0;
  for (auto each = running_.begin(); each != running_.end(); ++i) {
    bool isEnded = states[i].fd < 0 ||
                   (states[i].revents != 0 && !each->process.read(each->text));
    bool isLate = !isEnded && each->begin + seconds_ <= steadySeconds();
    if (isEnded) {
      bool isWell = each->process.wait();
      tell(*each, {isWell ? std::optional(each->text) : std::nullopt});
    } else if (isLate) {
      tell(*each, {std::nullopt, true});
    }
    each = isEnded || isLate ? running_.erase(each) : std::next(each);
  }
}

void divisi::rewrite::runInProcesses(
    size_t count, const PieceLimits &limits,
    const std::function<std::string(size_t)> &work,
    const std::function<void(size_t, const Piece &)> &done) {
  Pool pool(limits.seconds, done);
  for (size_t next = 0; next != count || pool.size() != 0;) {
    if (next != count && pool.size() < limits.most) {
      pool.start(next++, work);
    } else {
      pool.wait();
    }
  }
}
