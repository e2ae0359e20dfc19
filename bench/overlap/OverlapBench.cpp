//===- OverlapBench.cpp - What overlap saves on a slow network ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   OverlapBench SCHEDULED.divisi IN-ORDER.divisi [RUNS]
//
// Runs the first entry of both in turn, on a network on which communication
// takes as long as computing: the same bytes, at a rate.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/DelayedSession.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace divisi;
using namespace divisi::rt;
using Clock = std::chrono::steady_clock;

namespace {

/// An artifact with its network.
struct Side {
  DelayedSession artifact;
  std::vector<HostTensor> inputs, outputs;
  std::vector<double> times;     ///< Milliseconds, on one network.
  std::vector<double> computing; ///< What of it rank 0 was not communicating.
  int64_t bytes = 0;             ///< That rank 0 moves in a run.
};

} // namespace

static void check(const Status &status) {
  if (!status.isOk()) {
    std::cerr << status.message() << "\n";
    std::exit(1);
  }
}

template <typename T> static T take(Expected<T> value) {
  check(value ? Status() : value.status());
  return std::move(*value);
}

static double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

static Side open(const char *path) {
  Side side;
  side.artifact =
      take(DelayedSession::open(path, {&cpuBackend(), &referenceBackend()}));
  side.inputs =
      take(drawInputs(side.artifact.session->entries().front(), /*seed=*/1));
  return side;
}

static void run(Side &side) {
  Session &session = *side.artifact.session;
  side.artifact.network->takeTraffic(0);
  auto begin = Clock::now();
  side.outputs = take(session.run(session.entries().front().name, side.inputs));
  std::chrono::duration<double, std::milli> time = Clock::now() - begin;
  Traffic traffic = side.artifact.network->takeTraffic(0);
  std::chrono::duration<double, std::milli> inside = traffic.inside;
  side.times.push_back(time.count());
  side.computing.push_back((time - inside).count());
  side.bytes = traffic.bytes;
}

static void runInTurn(Side &scheduled, Side &inOrder, int runs) {
  for (Side *side : {&scheduled, &inOrder}) {
    side->times.clear();
    side->computing.clear();
  }
  for (int i = 0; i < runs; ++i) {
    run(scheduled);
    run(inOrder);
    check(compareBits("outputs", scheduled.outputs, inOrder.outputs));
  }
  check(compareState(*scheduled.artifact.session, *inOrder.artifact.session));
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::cerr
        << "usage: OverlapBench SCHEDULED.divisi IN-ORDER.divisi [RUNS]\n";
    return 2;
  }
  int runs = argc > 3 ? std::atoi(argv[3]) : 15;
  Side scheduled = open(argv[1]), inOrder = open(argv[2]);
  runInTurn(scheduled, inOrder, 2); // Warm.
  runInTurn(scheduled, inOrder, runs);
  double computing = median(inOrder.computing);
  double free = median(inOrder.times), freeScheduled = median(scheduled.times);
  NetworkRate rate;
  rate.nanosecondsPerByte = 1e6 * computing / double(inOrder.bytes);
  inOrder.artifact.network->setRate(rate);
  scheduled.artifact.network->setRate(rate);
  runInTurn(scheduled, inOrder, runs);
  double slow = median(inOrder.times), slowScheduled = median(scheduled.times);
  std::printf("{\"computing_ms\": %.2f, \"no_network_ms\": {\"in_order\": "
              "%.2f, \"scheduled\": %.2f}, \"network_ms\": {\"in_order\": "
              "%.2f, \"scheduled\": %.2f}, \"ratio\": %.3f, \"runs\": %d}\n",
              computing, free, freeScheduled, slow, slowScheduled,
              slowScheduled / slow, runs);
}
