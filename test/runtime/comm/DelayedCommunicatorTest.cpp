//===- DelayedCommunicatorTest.cpp - What a slow network does -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/comm/DelayedCommunicator.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "test/runtime/core/TestSession.h"

#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using Clock = std::chrono::steady_clock;

/// Two gathers of different communicators, none of which waits for the other.
static pb::Manifest twoGathers() {
  ManifestBuilder b(2);
  uint32_t g = b.grid({2});
  TensorRef part = b.tensor(g, {1024}, {DimSplit({0})});
  TensorRef whole = b.tensor(g, {1024}, {{}});
  pb::Entry &entry = *b.manifest.add_entries();
  entry.set_name("f");
  addValue(entry.mutable_inputs(), "x", part);
  addValue(entry.mutable_outputs(), "y", whole);
  addValue(entry.mutable_outputs(), "z", whole);
  ProgramBuilder p(b.manifest, entry, {0, 1});
  uint32_t x = p.input(0, part), y = p.alloc(whole), z = p.alloc(whole);
  p.collective("all_gather", {0}, x, y, 0);
  p.collective("all_gather", {0}, x, z, 1);
  p.output(y, 0);
  p.output(z, 1);
  for (uint32_t i : {0, 1}) {
    pb::Communicator &communicator = *b.manifest.add_communicators();
    communicator.set_name("c" + std::to_string(i));
    communicator.set_grid(g);
    communicator.add_axes(0);
    p.program.mutable_instructions(int(i))->set_queue(2 + i);
    p.program.mutable_instructions(int(2 + i))->add_after(i);
  }
  return b.manifest;
}

// A link moves one step after another, whatever communicator it belongs to, at
// the rate that was set; and the values are those that other ranks have.
TEST(DelayedCommunicatorTest, linksTakeTheirTime) {
  std::shared_ptr<DelayedCommunicator> network;
  SessionOptions options = testOptions();
  options.communicator = [&](const CommunicatorRequest &request)
      -> Expected<std::shared_ptr<Communicator>> {
    network = std::make_shared<DelayedCommunicator>(
        makeInprocCommunicator(request.timeout));
    return std::shared_ptr<Communicator>(network);
  };
  auto session = openSession(twoGathers(), {}, options);
  ASSERT_TRUE(session) << session.status().message();
  auto run = [&] {
    auto begin = Clock::now();
    auto outputs =
        (*session)->run("f", listOf(makeTensor({1024}, counting(1024))));
    EXPECT_TRUE(outputs) << outputs.status().message();
    for (size_t i = 0; outputs && i < 2; ++i) {
      EXPECT_EQ(valuesOf((*outputs)[i]), counting(1024));
    }
    return Clock::now() - begin;
  };
  run();
  EXPECT_EQ(network->takeTraffic(0).bytes, 2 * 4096);
  EXPECT_EQ(network->takeTraffic(0).bytes, 0);
  network->setRate({.latency = std::chrono::milliseconds(5)});
  EXPECT_GE(run(), std::chrono::milliseconds(10));
  network->setRate({.nanosecondsPerByte = 1e6 / 1024});
  EXPECT_GE(run(), std::chrono::milliseconds(8));
  network->setRate({.jitter = std::chrono::microseconds(100)});
  run();
  EXPECT_EQ(network->takeTraffic(1).bytes, 4 * 2 * 4096);
}
