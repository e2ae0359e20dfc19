//===- PrimitiveDescsTest.cpp - Descriptions that are made once -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/OneDnn.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace divisi::rt;
using namespace divisi::rt::cpu;

/// Of a copy into another order.
static PrimitiveDesc makeCopy() {
  return describeReorder(describe({4, 8}, {8, 1}).get(),
                         describe({4, 8}, {1, 4}).get());
}

// Also those that come while it is made have the one, and only equal names.
TEST(PrimitiveDescs, oneIsMadeForAllOfAName) {
  PrimitiveDescs descs;
  std::atomic<int> made = 0;
  std::vector<std::shared_ptr<const dnnl_primitive_desc>> got(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] {
      got[i] = descs.get(i % 2 ? "odd" : "even", [&] {
        ++made;
        return makeCopy();
      });
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(made, 2);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(got[i]);
    EXPECT_EQ(got[i], got[i % 2]);
  }
  EXPECT_NE(got[0], got[1]);
}

TEST(PrimitiveDescs, aRefusalIsKept) {
  PrimitiveDescs descs;
  EXPECT_FALSE(descs.get("refused", [] { return PrimitiveDesc(); }));
  EXPECT_FALSE(descs.get("refused", makeCopy));
}

// More than any model has do not pile up, and those in use stay.
TEST(PrimitiveDescs, manyAreForgotten) {
  PrimitiveDescs descs;
  auto first = descs.get("first", makeCopy);
  for (int i = 0; i < 1000; ++i) {
    descs.get(std::to_string(i), [] { return PrimitiveDesc(); });
  }
  bool isMadeAgain = false;
  auto second = descs.get("first", [&] {
    isMadeAgain = true;
    return makeCopy();
  });
  EXPECT_TRUE(isMadeAgain);
  EXPECT_GT(scratchpadBytes(first.get()) + 1, 0);
}
