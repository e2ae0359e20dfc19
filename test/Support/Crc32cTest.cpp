//===- Crc32cTest.cpp - Tests of CRC-32C ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Crc32c.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

using namespace divisi;

static std::vector<uint32_t> sumsOf(const std::string &text, size_t chunkBytes,
                                    bool isPortable) {
  return crc32cOfChunks(std::as_bytes(std::span<const char>(text)), chunkBytes,
                        isPortable);
}

TEST(Crc32cTest, matchesTheVectorsOfRfc3720) {
  std::string ascending(32, 0);
  for (int i = 0; i < 32; ++i) {
    ascending[i] = static_cast<char>(i);
  }
  std::string descending(ascending.rbegin(), ascending.rend());
  for (bool isPortable : {false, true}) {
    for (auto [text, sum] : {std::pair(std::string("123456789"), 0xe3069283u),
                             std::pair(std::string(32, 0), 0x8a9136aau),
                             std::pair(std::string(32, '\xff'), 0x62a8ab43u),
                             std::pair(ascending, 0x46dd794eu),
                             std::pair(descending, 0x113fdb5cu)}) {
      EXPECT_EQ(sumsOf(text, 100, isPortable), std::vector<uint32_t>{sum});
    }
  }
}

// Chunks are summed several at a time, and the last is shorter.
TEST(Crc32cTest, everyChunkHasTheSumOfItsBytes) {
  std::string text(1003, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(i * i * 7 + i / 3);
  }
  EXPECT_TRUE(sumsOf("", 8, false).empty());
  for (size_t chunkBytes : {1, 7, 8, 24, 61, 250, 1003, 5000}) {
    std::vector<uint32_t> expected;
    for (size_t begin = 0; begin < text.size(); begin += chunkBytes) {
      expected.push_back(
          sumsOf(text.substr(begin, chunkBytes), 5000, true).front());
    }
    EXPECT_EQ(sumsOf(text, chunkBytes, false), expected) << chunkBytes;
    EXPECT_EQ(sumsOf(text, chunkBytes, true), expected) << chunkBytes;
  }
}
