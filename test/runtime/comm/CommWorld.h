//===- CommWorld.h - Ranks for the tests of communicators -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests of CommConformanceTest.cpp are run by every process of a world, and
// do the part of its ranks there. Who links them says which ranks these are.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_COMM_COMMWORLD_H
#define DIVISI_TEST_RUNTIME_COMM_COMMWORLD_H

#include "divisi/runtime/comm/Communicator.h"
#include "divisi/runtime/comm/ProcessWorld.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace divisi::rt {

/// Of the world.
inline constexpr uint32_t numTestRanks = 6;
/// In an order in which neighbours are in different processes.
inline constexpr uint32_t testRanks[numTestRanks] = {0, 5, 2, 3, 1, 4};

/// Those of this process. Defined by who links the tests.
std::vector<uint32_t> localTestRanks();
/// A communicator of all ranks; every process makes it at the same time.
std::shared_ptr<Communicator>
connectTestRanks(std::chrono::milliseconds timeout = std::chrono::seconds(20));

/// Whether that party of `step` runs here.
inline bool isLocal(const StepDesc &step, size_t party) {
  std::vector<uint32_t> ranks = localTestRanks();
  return std::count(ranks.begin(), ranks.end(), step.parties[party].rank) != 0;
}

/// Each of the ranks holds one of as many floats, and wants all.
inline StepDesc gatherStep(const std::vector<uint32_t> &ranks) {
  StepDesc step;
  step.location = "all_gather of 'fc1'";
  auto count = static_cast<int64_t>(ranks.size());
  for (int64_t i = 0; i < count; ++i) {
    step.parties.push_back({ranks[i], Box{{i}, {i + 1}}, Box::whole({count})});
  }
  return step;
}

/// Calls `body(party)` on a thread for each party that runs here.
template <typename Body> void onLocal(const StepDesc &step, Body body) {
  std::vector<std::thread> threads;
  for (size_t party = 0; party < step.parties.size(); ++party) {
    if (isLocal(step, party)) {
      threads.emplace_back([&body, party] { body(party); });
    }
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
}

/// Runs a step once; the addresses of a party's boxes are `source(party)` and
/// `result(party)`. Returns a status for each party; others' are good.
template <typename Source, typename Result>
std::vector<Status> runOnAll(Communicator &communicator, const StepDesc &step,
                             Source source, Result result) {
  std::vector<Status> statuses(step.parties.size());
  onLocal(step, [&](size_t party) {
    auto share = LoneStep::prepare(communicator, step, party);
    statuses[party] =
        share ? runStep(communicator, **share, source(party), result(party))
              : share.status();
  });
  return statuses;
}

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_COMM_COMMWORLD_H
