//===- PackedFormsTest.cpp - Constants in layouts of kernels' own ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Kernel.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace divisi::rt;

TEST(PackedFormsTest, aFormIsMadeOnceWhileSomebodyHasIt) {
  PackedForms forms;
  int made = 0;
  auto fill = [&](std::byte *bytes) {
    bytes[0] = std::byte(++made);
    return true;
  };
  auto first = forms.get("a", 100, fill), second = forms.get("a", 100, fill);
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.get()) % 64, 0u);
  auto other = forms.get("b", 100, fill);
  EXPECT_NE(first, other);
  EXPECT_EQ(other.get()[0], std::byte(2));
  first.reset(), second.reset();
  EXPECT_EQ(forms.get("a", 100, fill).get()[0], std::byte(3));
}

TEST(PackedFormsTest, whatFailsIsTriedAgain) {
  PackedForms forms;
  EXPECT_FALSE(forms.get("a", 4, [](std::byte *) { return false; }));
  EXPECT_TRUE(forms.get("a", 4, [](std::byte *) { return true; }));
}

TEST(PackedFormsTest, threadsShareAForm) {
  PackedForms forms;
  std::vector<std::shared_ptr<const std::byte>> got(4);
  std::vector<std::thread> threads;
  for (auto &form : got) {
    threads.emplace_back(
        [&] { form = forms.get("a", 4, [](std::byte *) { return true; }); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(std::count(got.begin(), got.end(), got[0]), 4);
}

TEST(PackedFormsTest, withoutFormsEachHasItsOwn) {
  int value = 7;
  auto fill = [](std::byte *) { return true; };
  EXPECT_NE(packConstant(&value, "a", 4, fill),
            packConstant(&value, "a", 4, fill));
}
