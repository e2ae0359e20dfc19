//===- run-delayed.cpp - Runs two orders of a model on slow networks ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   run-delayed SCHEDULED.divisi IN-ORDER.divisi [RUNS]
//
// Runs all entries of both on the reference backend: the first artifact on a
// network on which each step takes a while, drawn anew, so that ranks meet
// in flight as they otherwise seldom do, the second on none. Fails if outputs
// or state differ in any bit, or an artifact holds other memory than it says.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/core/DelayedSession.h"

#include <cstdlib>
#include <iostream>

using namespace divisi;
using namespace divisi::rt;

static Status runOnce(DelayedSession &delayed, DelayedSession &inOrder,
                      uint64_t seed) {
  for (const EntryInfo &entry : inOrder.session->entries()) {
    Expected<std::vector<HostTensor>> inputs = drawInputs(entry, seed);
    if (!inputs) {
      return inputs.status();
    }
    auto got = delayed.session->run(entry.name, *inputs);
    auto want = inOrder.session->run(entry.name, *inputs);
    if (!got || !want) {
      return got ? want.status() : got.status();
    }
    Status status = compareBits("entry '" + entry.name + "'", *got, *want);
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}

static Status runAll(const char *scheduled, const char *inOrder, int runs) {
  Expected<DelayedSession> delayed =
      DelayedSession::open(scheduled, {&referenceBackend()});
  Expected<DelayedSession> other =
      DelayedSession::open(inOrder, {&referenceBackend()});
  if (!delayed || !other) {
    return delayed ? other.status() : delayed.status();
  }
  delayed->network->setRate({.latency = {},
                             .nanosecondsPerByte = 0,
                             .jitter = std::chrono::microseconds(500)});
  for (int i = 0; i < runs; ++i) {
    Status status = runOnce(*delayed, *other, i);
    if (!status.isOk()) {
      return status;
    }
  }
  return compareState(*delayed->session, *other->session);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::cerr << "usage: run-delayed SCHEDULED.divisi IN-ORDER.divisi [RUNS]\n";
    return 2;
  }
  int runs = argc > 3 ? std::atoi(argv[3]) : 3;
  Status status = runAll(argv[1], argv[2], runs);
  if (!status.isOk()) {
    std::cerr << argv[1] << ": " << status.message() << "\n";
    return 1;
  }
  std::cout << argv[1] << ": equal bits in " << runs << " runs\n";
}
